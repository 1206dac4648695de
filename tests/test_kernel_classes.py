"""Names of real kernels and what each of them is."""

import pytest
from kernel_names import CHAIN, COPY, FA2, FA3, GEMM_UNIVERSAL, TENSILE, elementwise

from diagtool.kernel_classes import (
    CLASSES,
    collective_family,
    collective_operation,
    is_plain_core_matrix,
    kernel_class,
    uses_tensor_cores,
)

NAMES = {
    "attention": [
        f"void flash::flash_fwd_kernel<{FA2}, false, true, false>(flash::Flash_fwd_params)",
        f"void pytorch_flash::flash_fwd_kernel<pytorch_flash::{FA2}, false>(pytorch_flash::Flash_fwd_params)",
        f"void flash::flash_fwd_splitkv_kernel<{FA2}, true, false>(flash::Flash_fwd_params)",
        f"void flash::flash_fwd_splitkv_combine_kernel<{FA2}, 4, 5, true>(flash::Flash_fwd_params)",
        f"void flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<{FA2}, false>(flash::Flash_bwd_params)",
        FA3.format("FlashAttnFwdSm90"),
        "void flashinfer::BatchDecodeWithPagedKVCacheKernel<(flashinfer::PosEncodingMode)0, 2u, 4u, 8u>(Params)",
        "void flashinfer::BatchPrefillWithRaggedKVCacheKernel<flashinfer::KernelTraits<128u>, Params>(Params)",
        "void flashinfer::PersistentVariableLengthMergeStatesKernel<8u, 16u, 8u, 4u, __nv_bfloat16>(__nv_bfloat16*)",
        "void sm90::flash_fwd_splitkv_mla_kernel<cutlass::bfloat16_t>(Flash_fwd_mla_params)",
        "fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvCausalP16VarSeqQ128Kv128PersistentContext",
        "fmha_cutlassF_f16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<cutlass::half_t>::Params)",
        "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x1x1_cga1x1x1_kernel0_0",
        "void vllm::paged_attention_v2_kernel<unsigned short, unsigned short, 128, 16, 128>(float*, float*)",
        "void paged_attention_ll4mi_QKV_mfma16_kernel<0, __hip_bfloat16, (vllm::Fp8KVCacheDataType)0, 1, 128>(int)",
        "void paged_attention_ll4mi_reduce_kernel<__hip_bfloat16, __hip_bfloat16, 128, 128, 256, 3, false>(int)",
        "void vllm::merge_attn_states_kernel<__nv_bfloat16, 128u>(__nv_bfloat16*, float*)",
        "_fwd_grouped_kernel_stage1",
        "_fwd_kernel_stage2",
        "_fwd_kernel",
        "attn_fwd.kd",
        "kernel_unified_attention_2d",
        "sage_fwd",
        "triton_tem_fused_flex_attention_0",
        "_ZN7ck_tile6kentryILi2ENS_38FmhaBatchPrefillWithPagedKVCacheKernelINS_40BlockFmhaBatchPrefillPipelineQRKSVSAsyncE",
        "_ZN5aiter25pa_bf16_pertokenFp8_gqa8E",
        "kernel_mha",
        "void sm90::decode::sparse_fp8::flash_fwd_splitkv_mla_fp8_sparse_kernel<Kernel<(ModelType)1, 64>>(Params)",
        "_qsa_mqa_paged_kernel",
    ],
    "GEMM": [
        "ampere_sgemm_128x64_nn",
        "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn",
        "volta_h884gemm_64x128_ldg8_nn",
        "turing_fp16_s1688gemm_fp16_256x128_ldg8_f2f_tn",
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_kernel__5x_cublas",
        "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x256x8_stage3_warpsize1x4x1_ffma_aligna4_alignc4_cublas",
        "nvjet_tst_192x192_64x4_2x1_v_bz_coopB_bias_TNN",
        "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_64x6_tn_align8>(Params)",
        "void cutlass::Kernel<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>(Params)",
        GEMM_UNIVERSAL,
        "void cublasLt::splitKreduce_kernel<32, 16, int, float, float, float, float, true, true, false>(int)",
        "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, float, false, 7, P<float>>(P<float>)",
        "void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16, 4, 4, false, false, P>(P, float)",
        "void gemmSN_TN_kernel<float, 128, 16, 2, 4, 8, 9, false, cublasGemvTensorStridedBatched<float const>>(P)",
        "void deep_gemm::sm90_fp8_gemm_1d2d_impl<0u, 4096u, 7168u, 1u, 128u, 128u, 128u>(float*, int*)",
        "void gptq_marlin::Marlin<__nv_bfloat16, 1125899906842624l, 256, 1, 8, 8, false, 4, 8, false>(int4 const*)",
        "_w8a8_block_fp8_matmul",
        "triton_tem_fused_addmm_relu_3",
        "triton_mm",
        f"{TENSILE}_SK3",
        "void wvSplitK_hf_sml_<__hip_bfloat16, 64, 2, 16, 8, 2, 1>(int, int, __hip_bfloat16 const*)",
        "_ZN2ck16tensor_operation6device37kernel_batched_gemm_xdlops_bwd_weightINS_47GridwiseGemmE",
        "void mul_mat_vec_q<(ggml_type)12, 1, false>(void const*, void const*, float*)",
        "_lora_shrink_kernel",
        "cutlass3x_sm100_simt_sgemm_f32_f32_f32_f32_f32_128x64x16_1x1x1_3_tnn_align1_bias_f32_relu",
        "kernel_cutlass_kernel_flashinfergemmkernelsdense_blockscaled_gemm_sm100Sm100BlockScaledPersistentDenseGemm_0",
        "fc-dtype_Float",
    ],
    "MoE": [
        "fused_moe_kernel",
        "void vllm::moe::moe_align_block_size_kernel<int>(int const*, int*, int*, int*, int)",
        "void vllm::moe::topkGatingSoftmax<4, 128, 4, 16, 32, int, __nv_bfloat16>(__nv_bfloat16 const*)",
        "void vllm::moe::grouped_topk_fused_kernel<float, float, int>(float*, float*, int*)",
        "_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu",
        "bmm_MxE4m3_MxE2m1MxE4m3_Fp32_t128x16x256u2_s3_et128x16_m128x16x32_rM_TN_transOut_clmp_swiGlu_dynBatch_sm100f",
        "bmm_E4m3_E4m3E4m3_Fp32_t128x8x128u2_s8_et64x8_m64x8x32_c1x1x1_rM_TN_transOut_noShfl_clmp_lbW2_dynB_sm100f",
        "void moe::dev::finalize::finalizeKernelVecLoad<moe::dev::finalize::KernelParams<cutlass::bfloat16_t>>(P)",
        "void tensorrt_llm::kernels::cutlass_kernels::expandInputRowsKernel<__nv_bfloat16, __nv_bfloat16>(int)",
        "void marlin_moe_wna16::Marlin<__nv_bfloat16, 256, 1, 8>(int4 const*)",
        "_ZN5aiter47fmoe_bf16_blockscaleFp8_g1u1_vs_silu_1tg_32x256E",
        "void deep_ep::layout::get_dispatch_layout<256, 4, 8>(long const*, int*, int*, int*, bool*)",
    ],
    "norm": [
        "void vllm::rms_norm_kernel<c10::BFloat16>(c10::BFloat16*, c10::BFloat16 const*, float, int, int)",
        "std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, void>::type "
        "vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, long, float, int)",
        "std::enable_if<T2>(int)0&&vllm::_typeConvert<T1>::exists, void>::type vllm::fused_add_rms_norm_kernel<"
        "c10::BFloat16, (int)8>(T1 *, long, const T1 *)",
        "kernel_cutlass_kernel_flashinfernormkernelsfused_add_rmsnormFusedAddRMSNormKernel_object_at__tensorptrf16_0",
        "triton_red_fused__to_copy_add_mean_moe_forward_shared_mul_pow_rsqrt_0",
        "void flashinfer::norm::FusedAddRMSNormKernel<8u, __nv_bfloat16>(__nv_bfloat16*, __nv_bfloat16*)",
        "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float, false>(int, float)",
        "void at::native::(anonymous namespace)::RowwiseMomentsCUDAKernel<float>(long, float, float const*)",
        "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, 512, true, 1>(cudnnTensorStruct, float const*)",
        "MIOpenBatchNormFwdTrainSpatialMeanVariance",
        "void layer_norm::ln_fwd_kernel<layer_norm::Kernel_traits<__nv_bfloat16>>(layer_norm::FwdParams)",
        "void transformer_engine::normalization::rmsnorm_fwd_tuned_kernel<Kernel_traits<float>>(KernelParams)",
        "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi64ELi8ELb0ELb0ELb1ELi1EEEvPT0_PT_PfS4_S4_S4_diiiiiiib",
        "_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_27Rmsnorm2dFwdPipelineOnePassINS_8sequenceIJLi1ELi3072EEEEEEE",
        "triton_red_fused_add_addmm_cat_mul_native_layer_norm_slice_split_unsqueeze_36",
        "triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_0",
        "_layer_norm_fwd_1pass_kernel",
        "void fusedQKNormRopeKernel<__nv_bfloat16, 128, true>(void*, int)",
        "_ZN5aiter30local_device_load_rmsnorm_512nIDF16bEE",
        elementwise("at::native::(anonymous namespace)::batch_norm_calc_invstd(at::Tensor const&)::{lambda(float)#1}"),
    ],
    "activation": [
        "void vllm::act_and_mul_kernel<c10::BFloat16, &(c10::BFloat16 vllm::silu_kernel<c10::BFloat16>), true>(int)",
        "_ZN7sgl_hip10activation18act_and_mul_kernelI14__hip_bfloat16TnPFT_RKS3_EXadL_Z4siluIS2_ES3_S5_EEEEvPS3_PS4_i",
        elementwise(f"at::native::GeluCUDAKernelImpl{CHAIN}{{lambda(c10::BFloat16)#1}}"),
        elementwise(f"at::native::sigmoid_kernel_cuda{CHAIN}{{lambda(float)#1}}"),
        elementwise("at::native::(anonymous namespace)::threshold_kernel_impl<float>(int)::{lambda(float)#1}"),
        "triton_poi_fused__unsafe_view_mul_silu_2",
        "triton_poi_fused_addmm_gelu_view_24",
        "_silu_and_mul_post_quant_kernel",
        "tanh_backward-dtype_Float",
    ],
    "rotary": [
        "void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*, c10::BFloat16*, c10::BFloat16*)",
        "void flashinfer::BatchQKApplyRotaryPosIdsCosSinCacheEnhancedParallelismKernel<false, 128u, 8u>(int)",
        "_triton_mrope_forward",
        "void tensorrt_llm::kernels::applyMLARope<__nv_bfloat16>(int)",
        "void rope_norm<true, false, float>(float const*, float*, int)",
        "void tensorrt_llm::kernels::applyRoPE<__nv_bfloat16>(int)",
        "triton_poi_fused__to_copy_arange_cat_clone_cos_div_expand_mul_pow_reciprocal_select_sin_split_view_10",
    ],
    "sampling": [
        "void flashinfer::sampling::TopKTopPSamplingFromProbKernel<1024u, true, float, int>(float*, int*)",
        "void flashinfer::sampling::TopPRenormProbKernel<1024u, float>(float*, float*)",
        "void vllm::apply_repetition_penalties_kernel<float>(float*, bool const*)",
        "rejection_greedy_sample_kernel",
        "_topk_topp_kernel",
        "apply_token_bitmask_inplace_kernel",
        "void at::native::(anonymous namespace)::sampleMultinomialOnce<float, float>(long*, long, int)",
        "_gumbel_sample_kernel",
    ],
    "KV write": [
        "void vllm::reshape_and_cache_flash_kernel<__hip_bfloat16, __hip_bfloat16, (vllm::Fp8KVCacheDataType)0>(int)",
        "void vllm::concat_and_cache_mla_kernel<__nv_bfloat16, unsigned char, (vllm::Fp8KVCacheDataType)1>(int)",
        "void (anonymous namespace)::store_kvcache<2048l, 4, false, long>((anonymous namespace)::StoreKVCacheParams)",
        "void flashinfer::AppendPagedKVCacheKernel<128u, 8u, __nv_bfloat16, int>(int)",
        "set_mla_kv_buffer_kernel",
        "void tensorrt_llm::kernels::applyBiasRopeUpdateKVCacheV2<__nv_bfloat16, 128>(int)",
        "void vllm::indexer_k_quant_and_cache_kernel<__nv_bfloat16, unsigned char>(int)",
    ],
    "quantise": [
        "void vllm::scaled_fp8_quant_kernel_strided<c10::BFloat16, c10::Float8_e4m3fn>(c10::Float8_e4m3fn*)",
        "void vllm::dynamic_per_token_scaled_fp8_quant_kernel<c10::BFloat16>(float*)",
        "void per_token_group_quant_8bit_kernel<c10::BFloat16, c10::Float8_e4m3fn, true, false>(void const*)",
        "void vllm::cvt_fp16_to_fp4<__nv_bfloat16, false>(int, int, __nv_bfloat16 const*)",
        "void tensorrt_llm::kernels::quantize_with_block_size<(int)2, __nv_bfloat16, true>(int)",
        "void vllm::awq::dequantize_weights(int*, half*, int*, half*)",
        "sage_quant_kernel",
        "void vllm::convert_fp8_kernel<unsigned char, unsigned short, (vllm::Fp8KVCacheDataType)1>(int)",
    ],
    "convolution": [
        "cudnn_ampere_scudnn_128x64_relu_xregs_large_nn_v1",
        "sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x128x16_tensor16x8x8_cudnn",
        "void cudnn::cnn::conv2d_grouped_direct_kernel<false, true, false, false, 0, 0, int, float>(int)",
        "void cudnn::detail::dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>(int, int, int, float const*)",
        "void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>(int)",
        "void fft2d_r2c_32x32<float, false, 5u, true>(float2*, float const*)",
        "void implicit_convolve_sgemm<float, float, 1024, 6, 7, 3, 3, 5, 1, false, true, true>(int, int)",
        "volta_h884cudnn_256x64_ldg8_relu_exp_small_nhwc_tn_v1",
        "void cutlass__5x_cudnn::Kernel<cutlass_tensorop_bf16_s16816fprop_optimized_bf16_256x64_32x4_nhwc_align8>(P)",
        "igemm_fwd_gtcx2_nhwc_bf16_bx0_ex1_bt128x128x32_wt32x32x8_ws1x1_wr2x2_ta1x8x2x1_1x4x1x64",
        "miopenSp3AsmConv_v21_1_3_gfx9_fp32_stride1_group",
        "gcnAsmConv1x1U",
        "naive_conv_nonpacked_fwd_nchw_half_double_half",
        "_ZN2ck16tensor_operation6device12_GLOBAL__N_139kernel_grouped_conv_fwd_xdl_cshuffle_v3INS_28GridwiseGemmE",
        "_causal_conv1d_fwd_kernel",
    ],
    "recurrent": [
        "_chunk_scan_fwd_kernel",
        "_selective_scan_update_kernel",
        "fused_recurrent_gated_delta_rule_fwd_kernel",
        "chunk_fwd_kernel_o",
        "void LSTM_elementWise_fp<float, float, float, (cudnnRNNBiasMode_t)2>(int)",
    ],
    "softmax": [
        "void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, float, float, float, Epilogue>(float*)",
        "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, true, false>(float*)",
        "void soft_max_f32<true, 1024, 1024, float>(float const*)",
        "triton_per_fused__softmax_add_div_5",
    ],
    "embedding": [
        "void split_embedding_backward_codegen_rowwise_adagrad_unweighted_kernel_cta_per_row_1<float, float>(int)",
        "void at::native::(anonymous namespace)::EmbeddingBag_updateOutputKernel_sum_mean<float, long>(long*)",
        "void fbgemm_gpu::permute_2D_data_kernel<true, int, int, float>(int, int, int)",
        "void permute_pooled_embs_kernel<float>(float const*, long const*)",
        "triton_poi_fused_add_embedding_0",
    ],
    "elementwise": [
        elementwise("at::native::CUDAFunctor_add<float>"),
        "at::native::xpu::VectorizedElementwiseKernel<4, at::native::xpu::MulFunctor<float>>",
        elementwise("at::native::BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >"),
        "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::TensorListMetadata<2>, "
        "at::native::BinaryOpListAlphaFunctor<float, 2, 2, 0>, std::plus<float>, float>(int)",
        "void (anonymous namespace)::elementwise_kernel_with_index<int, at::native::arange_cuda_out(int)>(int)",
        elementwise("at::native::(anonymous namespace)::masked_fill_kernel(int)::{lambda(float, bool)#1}"),
        "SubTensorOpWithCastTensor1d",
        "triton_poi_fused_add_addmm_mul_split_unsqueeze_view_35",
        "triton_poi_fused_0",
        "vectorized_elementwise_kernel",
    ],
    "reduction": [
        "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float>>>(int)",
        "void at::native::nll_loss_forward_reduce_cuda_kernel_2d<float, float, long>(float*)",
        "triton_red_fused_abs_amax_transpose_view_32",
        "reduce_segments",
        "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::TensorListMetadata<1>, "
        "at::native::ReduceFunctor<float>>(int)",
    ],
    "pooling": [
        "void at::native::(anonymous namespace)::max_pool_forward_nchw<float, float>(int, float const*)",
        "void at::native::(anonymous namespace)::upsample_bilinear2d_out_frame<float, float>(int)",
        "void at::native::(anonymous namespace)::grid_sampler_2d_kernel<float, int>(int)",
    ],
    "sort": [
        "void cub::DeviceRadixSortOnesweepKernel<cub::DeviceRadixSortPolicy<long, int, int>::Policy800, false>(int*)",
        "void at_cuda_detail::cub::DeviceScanKernel<at_cuda_detail::cub::AgentScanPolicy<128, 15>, long*>(long*)",
        "void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>(int)",
        "void at::native::bitonicSortKVInPlace<2, -1, 16, 16, float, long, at::native::GTOp<float, true>>(int)",
        "_topk_forward",
    ],
    "index": [
        "void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int, long)",
        "void at::native::(anonymous namespace)::indexSelectLargeIndex<float, long, unsigned int, 2, 2, -2, true>(int)",
        "void at::native::index_elementwise_kernel<128, 4, at::native::gpu_index_kernel<"
        "at::native::index_kernel_impl<at::native::OpaqueType<2> >(int)::{lambda(char*)#1}>::{lambda(int)#1}>(long)",
        "void at::native::_scatter_gather_elementwise_kernel<128, 8, at::native::_cuda_scatter_fill<float>>(int)",
    ],
    "layout": [
        "void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true, (cudnnKernelDataType_t)2>(int)",
        "batched_transpose_16x64_pack_1x4_ediv_1x2_half",
    ],
    "copy": [
        elementwise(COPY),
        elementwise("at::native::FillFunctor<float>"),
        "void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 2, 128, 1>(float*)",
        "triton_poi_fused__to_copy_1",
        "triton_poi_fused_clone_transpose_21",
        "triton_poi_fused_zeros_0",
        "void thrust::THRUST_200200_NS::cuda_cub::core::_kernel_agent<thrust::cuda_cub::__parallel_for::"
        "ParallelForAgent<thrust::cuda_cub::__uninitialized_fill::functor<float>, long>>(int)",
        "Memcpy HtoD (Pageable -> Device)",
        "Memset (Device)",
        "[CUDA memcpy Device-to-Device]",
    ],
    "random": [
        "void at::native::(anonymous namespace)::distribution_elementwise_grid_stride_kernel<float, 4, "
        "at::native::templates::cuda::uniform_and_transform<float, float, 4ul>(int)::{lambda(float)#1}>(long)",
        "void at::native::(anonymous namespace)::fused_dropout_kernel_vec<float, float, unsigned int, 1, 4, bool>(int)",
    ],
    "optimizer": [
        "void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float>, float, float>(int)",
        "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::"
        "FusedOptimizerTensorListMetadata<4>, at::native::FusedAdamMathFunctor<float, 4>, float const*>(int)",
    ],
    "other": [
        "triton__0d1d2d3d",
        "at::cuda::(anonymous namespace)::spin_kernel(long)",
        "event_wait",
        "pe_exe",
        "compute_position_kernel",
        "my_kernel",
        "void my_kernel<cub::BlockReduce<int>, at::native::CopyFunctor, SoftMax>(cub::DeviceScan*)",
        "void (anonymous namespace)::barrier_kernel(unsigned int**, int)",
        "",
        "   ",
        "<>()",
    ],
}  # fmt: skip


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in NAMES.items() for name in names])
def test_class(kind, name):
    assert kernel_class(name) == kind
    assert collective_family(name) is None
    assert collective_operation(name) == "unknown"


def test_every_class_has_names():
    assert set(CLASSES) == set(NAMES) | {"collective"}
    assert len(CLASSES) == len(set(CLASSES))


COLLECTIVES = [
    ("NCCL", "all-reduce", "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)"),
    ("NCCL", "all-reduce", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"),
    ("NCCL", "all-reduce", "ncclSymkDevKernel_AllReduce_RSxLDMC_AGxSTMC(ncclSymkDevWorkArgs4K)"),
    ("NCCL", "reduce-scatter", "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"),
    ("NCCL", "all-gather", "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"),
    ("NCCL", "broadcast", "ncclKernel_Broadcast_RING_LL_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)"),
    ("NCCL", "reduce", "ncclDevKernel_Reduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"),
    ("NCCL", "send/recv", "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)"),
    ("NCCL", "unknown", "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)"),
    ("RCCL", "unknown", "rcclGenericKernel"),
    ("MSCCL", "all-reduce", "void mscclpp::collective::allreducePacket<(mscclpp::ReduceOp)0, __half>(__half*)"),
    ("HCCL", "all-reduce", "hcom_allReduce__123_0"),
    ("DeepEP", "dispatch", "void deep_ep::intranode::dispatch<8, 768, 8192>(int4*, float*, int*)"),
    ("DeepEP", "combine", "void deep_ep::internode_ll::combine<false, 7168, 9, 128>(void*, void*)"),
    ("DeepEP", "dispatch", "void deep_ep::intranode::notify_dispatch<8>(int const*, int*)"),
    ("DeepEP", "barrier", "void deep_ep::internode_ll::clean_low_latency_buffer<256>(int*, int)"),
    ("MORI", "dispatch", "void mori::moe::EpDispatchIntraNodeKernel<hip_bfloat16>(EpDispatchCombineArgs)"),
    ("MORI", "combine", "EpCombineIntraNodeKernel_bf16"),
    ("MoE all-to-all", "dispatch", "void tensorrt_llm::kernels::moe_comm::moeA2ADispatchKernel<Policy, 8>(Params)"),
    ("MoE all-to-all", "dispatch", "void tensorrt_llm::kernels::moe_comm::moeA2APrepareDispatchKernel(Params)"),
    ("MoE all-to-all", "all-to-all", "void tensorrt_llm::kernels::moeAllToAllKernel<false>(Params)"),
    ("userbuffers", "all-gather", "void userbuffers_fp16_sum_inplace_gpu_rw_ag<2>(int, int)"),
    ("userbuffers", "reduce-scatter", "void userbuffers_fp16_sum_inplace_gpu_rr_rs_oop<8>(int, int)"),
    ("userbuffers", "send/recv", "kuserbuffers_pushrecv(int, int, int*, int*, int)"),
    ("NVSHMEM", "barrier", "void barrier_on_stream_kernel_threadgroup<(threadgroup_t)2>(int, int)"),
    ("NVSHMEM", "all-reduce", "void rdxn_on_stream_kernel<float, (rdxn_ops)2>(int, float*, float const*)"),
    ("NVSHMEM", "unknown", "nvshmemi_proxy_quiet_kernel"),
    ("multimem", "all-reduce", "void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(void*)"),
    ("multimem", "all-reduce", "void multimem_one_shot_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*)"),
    ("multimem", "all-gather", "void multimem_all_gather_kernel<16>(char*, char*)"),
    ("symmetric memory", "unknown", "void c10d::symmetric_memory::memset32_kernel(unsigned int*)"),
    ("one- and two-shot", "all-reduce", "void two_shot_all_reduce_kernel_inplace<float, 16>(int)"),
    ("one- and two-shot", "all-reduce", "void tensorrt_llm::kernels::oneShotAllReduceKernel<__half, 8, true>(Params)"),
    ("custom all-reduce", "all-reduce", "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*)"),
    ("custom all-reduce", "all-reduce", "void sglang::cross_device_reduce_2stage<__half, 8>(sglang::RankData*)"),
    ("custom all-reduce", "reduce-scatter", "_ZN5aiter33reduce_scatter_cross_device_storeIDF16bLi8EEEvPNS_8RankDataE"),
    ("quick all-reduce", "all-reduce",
     "void quickreduce::allreduce_prototype_twoshot<AllReduceTwoshot<__half, CodecQ4<__half, 4>, true>, __half>(int)"),
    ("all-reduce fusion", "all-reduce",
     "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<"
     "(flashinfer::trtllm_allreduce_fusion::AllReduceFusionPattern)1, __nv_bfloat16, 8, false, false>(Params)"),
    ("all-reduce fusion", "all-reduce",
     "void tensorrt_llm::kernels::ar_fusion::moe::moefinalize_allreduce_fusion_kernel_oneshot_lamport<8>(Params)"),
    ("other", "all-reduce", "void intra_node_comm::hybridCubeMeshAllReduceKernel<8>(int)"),
    ("other", "all-gather", "triton_all_gather_kernel"),
    ("other", "all-to-all", "all_to_all_vdev_2d"),
]  # fmt: skip


@pytest.mark.parametrize(("family", "operation", "name"), COLLECTIVES)
def test_collective(family, operation, name):
    assert collective_family(name) == family
    assert collective_operation(name) == operation
    assert kernel_class(name) == "collective"
    assert not is_plain_core_matrix(name)


@pytest.mark.parametrize(
    "name",
    [
        "void at::native::reduce_kernel<128, 4, at::native::ReduceOp<float, at::native::sum_functor<float>>>(int)",
        "void at::native::vectorized_gather_kernel<16, long>(char*)",
        "void at::native::(anonymous namespace)::scatter_reduce_kernel<float>(float*)",
        "void deep_ep::layout::get_dispatch_layout<256, 4, 8>(long const*)",
        "void foo<ncclAllReduceTag, all_gather>(ncclDevComm*)",
        "void norm_kernel<float, intranode>(nvshmem_team_t)",
        "void warpAllReduceKernel<float>(float*)",
        "void block_all_reduce_sum<float>(float*)",
        "triton_poi_fused_add_all_reduce_wait_tensor_0",
        "triton_red_fused_all_gather_into_tensor_native_layer_norm_1",
        "segment_reduce_forward_kernel",
        "void cub::DeviceReduceKernel<cub::DeviceReducePolicy<int>, all_reduce>(int)",
        "void groupnorm_kernel_dispatch_down<__hip_bfloat16, 1024u>(unsigned int)",
        "shell_sort_kernel",
    ],
)
def test_no_collective(name):
    assert collective_family(name) is None


PLAIN = [
    "ampere_sgemm_32x32_sliced1x4_tn",
    "volta_sgemm_128x64_nn",
    "turing_fp16_sgemm_fp16_128x64_tn",
    "volta_hgemm_128x64_nn",
    "cudnn_ampere_scudnn_128x64_relu_xregs_large_nn_v1",
    "volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1",
    "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x256x8_stage3_warpsize1x4x1_ffma_aligna4_alignc4_execute_kernel",
    "void cutlass::Kernel2<cutlass_80_simt_sgemm_128x128_8x4_nt_align1>(cutlass_80_simt_sgemm::Params)",
    "void implicit_convolve_sgemm<float, float, 128, 5, 5, 3, 3, 3, 1, false, true, true>(int, int)",
    "void cudnn::cnn::wgrad_alg0_engine<float, 128, 6, 7, 3, 3, 5, false, 512>(int, int)",
    "cutlass3x_sm100_simt_sgemm_f32_f32_f32_f32_f32_128x64x16_1x1x1_3_tnn_align1_bias_f32_relu",
    "void magma_sgemmEx_kernel<float, float, float, true, false, 6, 4, 6, 3, 4>(int)",
]
TENSOR = [
    "volta_h884gemm_64x128_ldg8_nn",
    "turing_fp16_s1688gemm_fp16_256x128_ldg8_f2f_tn",
    "ampere_fp16_s16816gemm_fp16_64x64_ldg8_f2f_stages_64x5_tn",
    "turing_int8_i8816gemm_int8_128x128_ldg16_relu_tn",
    "volta_h884cudnn_256x64_ldg8_relu_exp_small_nhwc_tn_v1",
    "sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x128x16_tensor16x8x8_cudnn",
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_kernel__5x_cublas",
    "void cutlass::Kernel<cutlass_70_wmma_tensorop_f16_s161616gemm_f16_32x32_64x2_tn_align8>(Params)",
    "cutlass3x_sm90_tensorop_s64x128x16gemm_bf16_bf16_f32_void_bf16_128x128x64_0_tnn_align8_warpspecialized",
    "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128_32x3_nn_align4>(Params)",
    GEMM_UNIVERSAL,
    "nvjet_tst_64x8_64x16_4x1_v_bz_TNT",
    "bmm_Bfloat16_MxE2m1MxE4m3_Fp32_t128x16x256u2_s3_et128x16_m128x16x32_rM_TN_transOut_dynBatch_sm100f",
    "fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvCausalP16VarSeqQ128Kv128PersistentContext",
    f"void flash::flash_fwd_kernel<{FA2}, false, true>(flash::Flash_fwd_params)",
    FA3.format("FlashAttnFwdSm90"),
    TENSILE,
    "igemm_fwd_gtcx2_nhwc_bf16_bx0_ex1_bt128x128x32_wt32x32x8",
    "_ZN2ck16tensor_operation6device12_GLOBAL__N_139kernel_grouped_conv_fwd_xdl_cshuffle_v3INS_28GridwiseGemmE",
    "void deep_gemm::sm90_fp8_gemm_1d2d_impl<0u, 4096u>(float*)",
    "kernel_cutlass_kernel_flashinfergemmkernelsdense_blockscaled_gemm_sm100Sm100BlockScaledPersistentDenseGemm_0",
    "void sm90::decode::sparse_fp8::flash_fwd_splitkv_mla_fp8_sparse_kernel<Kernel<(ModelType)1, 64>>(Params)",
]
SILENT = [
    "volta_dgemm_64x64_nn",
    "_w8a8_block_fp8_matmul",
    "fused_moe_kernel",
    "triton_tem_fused_mm_3",
    "ampere_gcgemm_64x64_nt",
    "void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16, 4, 4, false, false, P>(P, float)",
    "void gemmSN_TN_kernel<float, 128, 16, 2, 4, 8, 9, false, P>(P)",
    "void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>(int)",
    "void cudnn::cnn::conv2d_grouped_direct_kernel<false, true, float>(int)",
    f"void flash::flash_fwd_splitkv_combine_kernel<{FA2}, 4, 5, true>(flash::Flash_fwd_params)",
    "SubTensorOpWithCastTensor1d",
    "void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernel<float, float>(long)",
    elementwise("at::native::CUDAFunctor_add<float>"),
]


def test_tensor_cores():
    found = {name: uses_tensor_cores(name) for name in (*PLAIN, *TENSOR, *SILENT)}
    assert found == dict.fromkeys(PLAIN, False) | dict.fromkeys(TENSOR, True) | dict.fromkeys(SILENT)
    assert [name for name in found if is_plain_core_matrix(name)] == PLAIN
