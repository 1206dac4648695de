"""Names as they are shown, names under which two captures meet, and any text at all as a name."""

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from kernel_names import COPY, FA3, GEMM_UNIVERSAL, TENSILE, elementwise

from diagtool.kernel_classes import (
    CLASSES,
    collective_family,
    collective_operation,
    is_plain_core_matrix,
    kernel_class,
    normalised_name,
    short_name,
    uses_tensor_cores,
)


@pytest.mark.parametrize(
    ("name", "short"),
    [
        (elementwise("at::native::FillFunctor<float>"), "vectorized_elementwise FillFunctor"),
        (elementwise(COPY), "vectorized_elementwise direct_copy_kernel_cuda"),
        (
            "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<at::native::BinaryFunctor<"
            "float, at::native::binary_internal::MulFunctor<float> > >(at::TensorIteratorBase&)::{lambda(int)#1}>(int)",
            "elementwise MulFunctor",
        ),
        (
            "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::func_wrapper_t<float, "
            "at::native::sum_functor<float, float>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>>>(int)",
            "reduce sum_functor",
        ),
        (
            "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::TensorListMetadata<2>, "
            "at::native::BinaryOpListAlphaFunctor<float, 2, 2, 0>, std::plus<float>, float>(int)",
            "multi_tensor_apply plus",
        ),
        (
            "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_64x6_tn_align8>(P)",
            "cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_64x6_...",
        ),
        (FA3.format("FlashAttnFwdSm90"), "FlashAttnFwdSm90"),
        (GEMM_UNIVERSAL, "GemmUniversal"),
        (
            "std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, void>::type "
            "vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, long)",
            "fused_add_rms_norm_kernel",
        ),
        (
            "at::native::xpu::VectorizedElementwiseKernel<4, at::native::xpu::MulFunctor<float>>",
            "VectorizedElementwise MulFunctor",
        ),
        (TENSILE, "Cijk_Alik_Bljk_BBS_BH MT256x192x64"),
        ("_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi64ELi8ELb0EEEvPT0_PT_Pf", "add_rmsnorm_quant_kernel"),
        ("_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_27Rmsnorm2dFwdPipelineOnePassEEEEE", "Rmsnorm2dFwd"),
        ("_Z6squarePfS_", "square"),
        ("void deep_ep::intranode::dispatch<8, 768, 8192>(int4*)", "intranode::dispatch"),
        ("std::enable_if<!(false), void>::type internal::gemvx::kernel<int, 7, P<float>>(P<float>)", "gemvx::kernel"),
        ("attn_fwd.kd", "attn_fwd"),
        ("void foo(int, float*) [clone .constprop.0]", "foo"),
        ("triton_poi_fused_add_12", "triton_poi_fused_add_12"),
        ("Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD"),
        ("void foo<int, at::native::Bar<float>, cut off in the mid", "foo"),
        ("operator<<", "operator<<"),
        ("<<<", "<<<"),
        ("", ""),
    ],
)
def test_short_name(name, short):
    assert short_name(name) == short


MEET = [
    # Two builds of PyTorch: vector width, operand array, iterator type and lambda numbers differ.
    (
        elementwise(COPY),
        "void at::native::vectorized_elementwise_kernel<8, at::native::(anonymous namespace)::direct_copy_kernel_cuda("
        "at::TensorIterator&)::{lambda()#2}::operator()() const::{lambda()#9}::operator()() const::{lambda(float)#2}, "
        "at::detail::Array<char*, 2> >(int, at::detail::Array<char*, 2>)",
    ),
    # Kineto and nsys spell one kernel.
    (
        elementwise("at::native::FillFunctor<float>"),
        "void at::native::vectorized_elementwise_kernel<(int)4, at::native::FillFunctor<float>, std::array<char *, "
        "(unsigned long)2>>(int, T2, T3)",
    ),
    (
        "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, true, false>(float*, float const*)",
        "void <unnamed>::softmax_warp_forward<float, float, float, (int)9, (bool)1, (bool)0>(T2 *, const T1 *)",
    ),
    (
        "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<" + COPY + ">("
        "at::TensorIteratorBase&, " + COPY + " const&)::{lambda(int)#1}>(int)",
        "void at::native::elementwise_kernel<(int)128, (int)4, void at::native::gpu_kernel_impl_nocast<"
        "at::native::direct_copy_kernel_cuda(at::TensorIteratorBase &)::[lambda() (instance 3)]::operator ()() const::"
        "[lambda() (instance 7)]::operator ()() const::[lambda(float) (instance 1)]>(at::TensorIteratorBase &, "
        "const T1 &)::[lambda(int) (instance 1)]>(int, T3)",
    ),
    (
        "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 64, 4, false>, true>(flash::Flash_fwd_params)",
        "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<(int)128, (int)64, (int)4, (bool)0>, (bool)1>(T1)",
    ),
    # Launch bounds.
    (
        "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float>, 4> >(int)",
        "void at::native::reduce_kernel<128, 4, at::native::ReduceOp<float, at::native::MeanOps<float>, 4, 4> >(int)",
    ),
    (
        "void at_cuda_detail::cub::DeviceScanKernel<at_cuda_detail::cub::DeviceScanPolicy<int>::Policy600, int*>(int*)",
        "void cub::CUB_200200_800_NS::DeviceScanKernel<cub::DeviceScanPolicy<int>::Policy900, int*>(int*)",
    ),
    ("void cub::Kernel<cub::Policy600, int>(int)", "void cub::Kernel<cub::Policy900, int>(int)"),
    ("triton_poi_fused_add_12", "triton_poi_fused_add_3"),
    ("_rms_norm_kernel_0d1d2de3c", "_rms_norm_kernel"),
    ("attn_fwd.kd", "attn_fwd"),
    ("cudnn_infer_volta_scudnn_128x64_relu_small_nn_v1", "volta_scudnn_128x64_relu_small_nn_v1"),
    ("sm90_xmma_gemm_bf16_execute_kernel__5x_cublas", "sm90_xmma_gemm_bf16_execute_kernel"),
    ("kernel_cutlass_0x7f3a5c00", "kernel_cutlass_0x55d2aa10"),
    (TENSILE, TENSILE.replace("GRVWA8", "GRVWA4")),
    ("void foo<int>(int) [clone .isra.0]", "foo<int>(long)"),
]
APART = [
    (elementwise("at::native::FillFunctor<float>"), elementwise("at::native::FillFunctor<int>")),
    (elementwise("at::native::CUDAFunctor_add<float>"), elementwise("at::native::FillFunctor<float>")),
    (elementwise(COPY), elementwise(COPY.replace("(float)", "(long)"))),
    (elementwise(COPY), elementwise(COPY, "unrolled_elementwise_kernel<")),
    ("ampere_sgemm_128x64_nn", "ampere_sgemm_128x64_tn"),
    ("ampere_sgemm_128x64_nn", "ampere_sgemm_64x64_nn"),
    ("ampere_sgemm_128x64_nn", "volta_sgemm_128x64_nn"),
    ("nvjet_tst_64x8_64x16_4x1_v_bz_TNT", "nvjet_tst_128x8_64x12_2x1_v_bz_TNT"),
    (TENSILE, TENSILE.replace("MT256x192x64", "MT128x192x64")),
    (TENSILE, TENSILE.replace("Alik_Bljk", "Ailk_Bljk")),
    ("Cijk_Alik_Bljk_BBS_BH_MT320x224x64_MI16x16x1_SN", "Cijk_Alik_Bljk_BBS_BH_MT320x160x64_MI16x16x1_SN"),
    (
        "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4>, false>(int)",
        "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 64, 4>, false>(int)",
    ),
    (
        "void vllm::cross_device_reduce_1stage<__half, 8>(int)",
        "void vllm::cross_device_reduce_1stage<__half, 4>(int)",
    ),
    (
        "void at::native::CatArrayBatchedCopy<at::native::OpaqueType<2u>, unsigned int, 4>(int)",
        "void at::native::CatArrayBatchedCopy<at::native::OpaqueType<4u>, unsigned int, 4>(int)",
    ),
    ("void rotary_embedding_kernel<float, true>(int)", "void rotary_embedding_kernel<float, false>(int)"),
    ("void vllm::rms_norm_kernel<float>(int)", "void aiter::rms_norm_kernel<float>(int)"),
    ("triton_poi_fused_add_12", "triton_poi_fused_mul_12"),
    ("triton_poi_fused_0", "triton_poi_fused_1"),
    ("triton__0d1d2d", "triton__0d1d23d"),
    ("kernel_unified_attention_2d", "kernel_unified_attention_3d"),
    ("cross_device_reduce_1stage", "cross_device_reduce_2stage"),
    ("_ZN5aiter24add_rmsnorm_quant_kernelIDF16bLi64EEEv", "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bLi256EEEv"),
]


@pytest.mark.parametrize(("one", "another"), MEET)
def test_builds_meet(one, another):
    assert normalised_name(one) == normalised_name(another)
    assert kernel_class(normalised_name(one)) == kernel_class(one) == kernel_class(another)
    assert short_name(normalised_name(one)) == short_name(normalised_name(another))


@pytest.mark.parametrize(("one", "another"), APART)
def test_different_kernels_stay_apart(one, another):
    assert normalised_name(one) != normalised_name(another)


PIECES = st.sampled_from(
    ["void ", "at::native::", "_Z", "_ZN", "5aiter", "3foo", "I", "E", "Li4E", "S_", "<", ">", "(", ")", "{lambda(",
     ")#1}", "[lambda() (instance 1)]", "::operator()", "() const::", "::", ",", " ", "(int)4", "(bool)1", "4ul", ".kd",
     "Policy600", "0x7f", "_12", "triton_poi_fused_", "Cijk_A_B_MT1x2x3", "elementwise_kernel<", "__5x_cublas", "ncclA",
     "cudnn_volta_", "(anonymous namespace)::", "CUB_1_NS::", "add", "gemm", "*", "&", "->", "\n", "é", "lambda[]",
     "OpaqueType<2u>", "_0d1d"]
)  # fmt: skip


@example("(anonymous namespace)::")
@example("_Z0")
@example("_ZN4_Z1aE")
@given(st.text(max_size=60) | st.lists(PIECES, max_size=16).map("".join))
def test_any_text_is_a_name(name):
    assert kernel_class(name) in CLASSES
    assert (kernel_class(name) == "collective") == (collective_family(name) is not None)
    assert uses_tensor_cores(name) in (True, False, None)
    assert is_plain_core_matrix(name) == (uses_tensor_cores(name) is False)
    assert collective_operation(name)
    assert bool(short_name(name)) == bool(name)
    assert len(short_name(name)) <= 60
    assert normalised_name(normalised_name(name)) == normalised_name(name)
    assert bool(normalised_name(name)) == bool(name)


@pytest.mark.parametrize("start", ["", "_ZN3foo", "void at::native::elementwise_kernel<", "triton_poi_fused_", "bmm_"])
@pytest.mark.parametrize(
    "unit",
    ["a", "A", "_", " ", "<", "(", ">", ")", "<(", "a(", "9", "1,", "<1,", "S", "L1", "E1", "1a", "Policy1",
     "{lambda(", "::operator", ".kd", "[clone ", "CUB_1", "at_cuda_detail::", "cos_mul_", "_0d1", "MT1x1x1",
     "flash_fwd_", "fused_"],
)  # fmt: skip
def test_hostile_names_take_linear_time(start, unit):
    name = start + unit * (100_000 // len(unit)) + "\0"
    began = time.process_time()
    for judge in (kernel_class, collective_operation, uses_tensor_cores, short_name, normalised_name):
        judge(name)
    # A quadratic pattern takes minutes for one of these.
    assert time.process_time() - began < 20
