"""An example of a plugin: software pipelining gets one buffer less than the kernel asks for.

Triton calls `inspect_stages` for each compilation, with the stages that it will go through: a
function from (module, metadata) to module for each, in order. What is left there is what runs.
"""

from triton._C.libtriton import ir, passes


def inspect_stages(backend, stages, options, language, capability):
    """Change an option of one pass, and add another pass at the end of the same stage."""
    make_ttgir = stages["ttgir"]

    def changed(module, metadata):
        # An option: the pipeline of this stage is built by calling functions like this one.
        asked = passes.ttgpuir.add_assign_latencies
        passes.ttgpuir.add_assign_latencies = lambda manager, num_stages: asked(
            manager, max(num_stages - 1, 1)
        )
        try:
            module = make_ttgir(module, metadata)
        finally:
            passes.ttgpuir.add_assign_latencies = asked
        # A pass more: a pass manager of one's own, with any name.
        manager = ir.pass_manager(module.context)
        passes.common.add_sccp(manager)
        manager.run(module, "one_buffer_less")
        return module

    stages["ttgir"] = changed
