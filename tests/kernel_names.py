"""Long names of real kernels, and pieces of names, that several tests of names use."""

FA2 = "Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, cutlass::bfloat16_t>"
FA3 = "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::{}<flash::CollectiveMainloopFwdSm90<2>>>>(Params)"
GEMM_UNIVERSAL = (
    "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int, int, int>,"
    " cutlass::gemm::collective::CollectiveMma<cutlass::gemm::MainloopSm90TmaGmmaWarpSpecializedFP8<5>>,"
    " cutlass::epilogue::fusion::LinCombEltAct<cutlass::epilogue::thread::SiLu>>>(Params)"
)
TENSILE = "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x192x64_MI16x16x1_SN_LDSB1_AFC1_AFEM1_GRVWA8_ISA942"
CHAIN = "(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#7}::operator()() const::"
COPY = f"at::native::direct_copy_kernel_cuda{CHAIN}{{lambda(float)#1}}"


def elementwise(functor, wrapper="vectorized_elementwise_kernel<4, "):
    return f"void at::native::{wrapper}{functor}, std::array<char*, 2ul> >(int, {functor}, std::array<char*, 2ul>)"
