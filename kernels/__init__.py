"""Triton kernels, importable as ``diagtool.kernels``: each file a kernel, its launcher and its torch reference."""
