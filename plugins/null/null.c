/* A plugin that does nothing: the smallest library that Triton loads as one.
 *
 * It registers a pass, an op and a dialect, none of which does anything, so loading it must not
 * change one byte of what Triton compiles. It needs no LLVM and no Triton headers: the one symbol
 * that Triton looks up returns plain C structures. Build it for the Triton that is to load it:
 *
 *   cc -shared -fPIC -DTRITON_VERSION='"3.8.0"' -o libnull.so null.c
 *
 * Triton refuses a plugin whose TRITON_VERSION is not its own, up to the '+'.
 */
#include <stddef.h>
#include <stdint.h>

#ifndef TRITON_VERSION
#error "say which Triton it is for: -DTRITON_VERSION='\"3.8.0\"'"
#endif
#ifndef API_VERSION
#define API_VERSION 2
#endif

struct pass {
  const char *name, *version;
  void (*add)(void *pass_manager, const void *arguments);
  void (*register_)(void);
};

struct dialect {
  const char *name, *version;
  void (*register_)(void *registry);
};

struct op {
  const char *name;
  void (*add)(void *builder, void *operands); /* operands[0] is the result's slot, too */
};

struct info {
  uint32_t api_version;
  const char *name, *version;
  const struct pass *passes;
  size_t passes_count;
  const struct dialect *dialects;
  size_t dialects_count;
  const struct op *ops;
  size_t ops_count;
  const char *triton_version;
};

static void add_pass(void *pass_manager, const void *arguments) {
  (void)pass_manager, (void)arguments; /* a pass manager without it is as good */
}

static void register_pass(void) {}

static void register_dialect(void *registry) { (void)registry; }

static void add_op(void *builder, void *operands) { (void)builder, (void)operands; }

const struct info *tritonGetPluginInfo(void) {
  static const struct pass passes[] = {{"null_pass", "1", add_pass, register_pass}};
  static const struct dialect dialects[] = {{"NullDialect", "1", register_dialect}};
  static const struct op ops[] = {{"null_op", add_op}};
  static const struct info info = {
      API_VERSION, "null", "1", passes, 1, dialects, 1, ops, 1, TRITON_VERSION,
  };
  return &info;
}
