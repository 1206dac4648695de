"""What a kernel is, judged by its name alone: its class, whether it is a collective, and a name people can read.

Patterns meet the words of a name: the function's own name with its namespaces, in lower case, cut at underscores and
capitals (``flash::FlashAttnFwdSm90`` reads ``flash::flash attn fwd sm90``). Template arguments are read only where
the function is a wrapper around what they name, parameter types never.
"""

import re
from functools import lru_cache
from typing import NamedTuple

CLASSES = (
    "collective", "attention", "GEMM", "MoE", "norm", "activation", "rotary", "sampling", "KV write", "quantise",
    "convolution", "recurrent", "softmax", "embedding", "elementwise", "reduction", "pooling", "sort", "index",
    "layout", "copy", "random", "optimizer", "other",
)  # fmt: skip

# The first match wins, so a fused kernel belongs to what stands first: a norm that also quantises is a norm.
# Collectives come before all. `other` is what no row knows: no row takes the rest.
_TABLE = (
    ("copy", r"^\[?(?:cuda )?mem(?:cpy|set)\b"),
    # TorchInductor names pointwise and reduction kernels after every operator fused in and after some, such as addmm,
    # whose result they only read.
    ("norm", r"^triton (?:poi|red|per) fused .*?(?:(?:layer|rms|batch|group) norm|rsqrt|var mean|mean (?:mul )?pow)"),
    ("softmax", r"^triton (?:poi|red|per) fused .*?softmax"),
    ("activation", r"^triton (?:poi|red|per) fused .*?\b(?:silu|gelu|relu|sigmoid|tanh)"),
    ("rotary", r"^triton poi fused .*?\bcos .{0,80}?\bmul .{0,80}?\bsin\b"),
    ("embedding", r"^triton (?:poi|red|per) fused .*?\bembedding"),
    ("random", r"^triton (?:poi|red|per) fused .*?\b(?:rand|bernoulli|native dropout)"),
    ("copy", r"^triton poi fused(?= +[a-z])(?:[ \d]|to|copy|clone|cat|transpose|permute|unsafe|view|slice|zeros)+$"),
    ("elementwise", r"^triton (?:poi|for|mix) fused\b"),
    ("reduction", r"^triton (?:red|per) fused\b"),
    ("GEMM", r"^triton (?:tem|mm|bmm) .*?mm\b"),
    ("KV write", r"reshape and cache|concat and cache|append paged|copy blocks|quant (?:and )?cache"),
    ("KV write", r"\b(?:store|write|save|append|set|update|insert|fill|scatter|copy) (?:to )?(?:paged )?(?:mla )?kv"),
    ("KV write", r"\bkv ?(?:cache|buffer) (?:store|write|append|copy|update|scatter|transfer)"),
    ("MoE", r"\bf?moe|\bexperts?\b|matmul ogs|matmul scatter|combined routing|bitmatrix|\bep (?:scatter|gather)"),
    ("MoE", r"topk gating|grouped topk|routing indices|expand input rows|compute strides tma|get dispatch layout"),
    ("MoE", r"^bmm .*\bdyn b"),
    ("recurrent", r"selective (?:scan|state)|\b(?:ssd|ssm|mamba\d?|lstm|gru|rnn|r?wkv\d?)\b|delta rule|recurrent"),
    ("recurrent", r"\bchunk (?:fwd|bwd|scan|state|cumsum|local|scaled)|bmm chunk|state passing|li(?:near|ghtning) att"),
    ("attention", r"flash ?(?:attn|attention|fwd|bwd|mla)|\bflash::|fmha|attention|attn|\bmha|\bmla\b|sdpa"),
    (
        "attention",
        r"(?:decode|prefill) with|\b[gm]qa\b|\bsage (?:fwd|attn)|merge states|aiter::(?:pa|mla) |indexer|decode att\b",
    ),
    ("attention", r"^(?:fwd|bwd)(?: grouped)? kernel(?: stage\d)?$|^bwd (?:preprocess|kernel d(?:kdv|q))"),
    ("convolution", r"conv(?!er)|dgrad|wgrad|fprop|scudnn|winograd|\bfft2d |\bigemm (?:fwd|bwd|wrw)|[a-z]\d*cudnn "),
    ("convolution", r"\bim\d?d?2 ?col|\bcol2 ?im|cudnn::cnn::|\bcask.{0,8}::|flip filter"),
    ("GEMM", r"(?<!fb)gem[mv]|\bmm\b|\bb?mm |matmul|mul mat\b|\bcijk |nvjet|cublas|marlin|machete|\b[sb]gmv|\blora "),
    ("GEMM", r"split ?k ?reduce|reduce ?split ?k|wv split ?k|\bdot kernel|reduce 1 ?block kernel|epilogue::impl|^fc-"),
    ("norm", r"(?:layer|batch|group|instance|rms|qk|l2) ?norm(?!al)|\bnorm (?:kernel|fwd|bwd)|normalize |\brms\b"),
    ("norm", r"\bbn (?:fw|bw)|rowwise moments|gamma ?beta|internal gradients|fused ?params"),
    ("softmax", r"soft ?max"),
    ("rotary", r"rotary|\bm?ro ?pe|rope\b"),
    ("pooling", r"pool(?!ed emb)|(?:up|down) ?sample|grid sampl|interpol|roi align"),
    ("sampling", r"sampl|\btop ?[kp] ?(?:top ?p|mask|renorm)|\bmin ?p\b|gumbel|reject"),
    ("sampling", r"penalt|multinomial|apply logits|logits processor|token bitmask|(?:build|verify) tree"),
    ("embedding", r"embedding|\bembs? |split eb |linearize index|bounds check ind|bucketize|sparse (?:data|feat)"),
    ("embedding", r"permute (?:1 ?d|2 ?d|indices|pooled) |offsets range|find long seg|dense represent|\brecat "),
    ("optimizer", r"adam|\b(?:sgd|lamb|lion|adagrad|rmsprop|muon)\b|amp (?:update|foreach)"),
    ("random", r"distribution|dropout|philox|curand|rocrand|bernoulli|randperm|\brandn?\b|uniform and"),
    ("activation", r"silu|gelu|relu|swi ?glu|\bglu\b|sigmoid|tanh|act and mul|activation|\bmish|softplus|\belu\b"),
    ("activation", r"threshold (?:kernel|backward)|swish"),
    (
        "quantise",
        r"quant|fp8 ?(?:rowwise|qparam|to)|to h?fp8|(?:cvt|convert) fp\d+|scaled fp8|scale ?interleave|\bmxfp\d ",
    ),
    ("elementwise", r"masked fill|arange|linspace|kernel with index"),
    ("sort", r"sort|\b(?:scan|top ?k|cumsum|cumprod|unique|histogram|nonzero|partition)\b|wrapped scan|run length"),
    ("sort", r"device select|reduce by key|compact init|gather top ?k|kth value"),
    ("index", r"gather|scatter|index|indices|\btake\b|token ids|\bput\b"),
    ("layout", r"transpose|permute|nchw|nhwc|\bpad\b"),
    ("copy", r"copy|cat array|\b(?:cat|concat|fill|stack|clone|memset|memcpy|zeros?|flip|roll|repeat)\b"),
    ("reduction", r"reduce|reduction|\b(?:lp|vector) norm|arg ?(?:max|min)|(?:max|min) dim|\bnll|cross entropy"),
    ("reduction", r"\b(?:sum|mean)(?: kernel| rows|[.-])"),
    ("elementwise", r"element ?wise|multi tensor|\b(?:sub|op|add|scale) ?(?:packed )?tensor\b|sub tensor op|\bclamp\b"),
    ("elementwise", r"-dtype |\b(?:add|sub|mul|div|neg|exp|sqrt|where|scal) kernel"),
)

# By maker; RCCL's kernels carry NCCL's name too. The last row is any other kernel that says it is one.
_COLLECTIVES = (
    ("MSCCL", r"\bmsccl"),
    ("RCCL", r"\brccl"),
    ("HCCL", r"\bhccl|\bhcom\b"),
    ("oneCCL", r"\boneccl"),
    ("NCCL", r"\bnccl"),
    ("DeepEP", r"\bdeep ?ep::(?!layout)|\b(?:intra|inter)node(?: ll)?::|^(?:cached )?notify (?:dispatch|combine)"),
    ("MORI", r"\bmori::|\bep (?:dispatch|combine)\b"),
    ("MoE all-to-all", r"\ba2 ?a ?(?:dispatch|combine|prepare|sanitize)|\bmoe ?(?:comm|all ?to ?all)|\bpplx"),
    ("userbuffers", r"userbuffers"),
    ("NVSHMEM", r"shmem|(?:rdxn|cast|barrier|sync|collect|alltoall|scatter).{0,40} on stream kernel"),
    ("multimem", r"multimem"),
    ("symmetric memory", r"\bsymm(?:etric)? ?mem"),
    ("quick all-reduce", r"quick ?reduce|allreduce prototype"),
    ("all-reduce fusion", r"all ?reduce ?fusion|all ?reduce (?:rms ?)?norm|\blamport(?! init)|mnnvl"),
    ("one- and two-shot", r"\b(?:one|two) ?shot ?(?:all|reduce)"),
    ("custom all-reduce", r"cross device (?:reduce|store)|all ?gather (?:lastdim|vec)|custom all ?reduce"),
    ("other", r"(?<!warp )(?<!block )(?<!thread )(?<!group )\b(?:all ?(?:reduce|gather|to ?all)|reduce ?scatter)"),
)
# TorchInductor names kernels around a collective after it.
_AROUND_COLLECTIVE = re.compile(r"^triton (?:poi|red|per|tem|for|tpl|mix) ")
_OPERATIONS = (
    ("dispatch", r"dispatch"),
    ("combine", r"combine"),
    ("all-to-all", r"all ?to ?all|\ba2 ?a"),
    ("all-reduce", r"all ?reduce|cross device reduce|quick ?reduce|lamport|rdxn|mnnvl|userbuffers .* rr$"),
    ("reduce-scatter", r"reduce ?scatter|userbuffers .* rs\b"),
    ("all-gather", r"all ?gather|\bf?collect\b|userbuffers .* ag\b"),
    ("send/recv", r"send|recv|put signal|\bp2p\b"),
    ("broadcast", r"broadcast|\bbcast"),
    ("barrier", r"barrier|\bsync (?:all )?on |clean low latency"),
    ("reduce", r"\breduce\b"),
)

# Products in single and plain half precision by the BLAS letter (most devices have no faster double), cuDNN's scudnn,
# FFMA and SIMT variants and cuDNN's old engines.
_PLAIN_CORES = re.compile(
    r"\bsgemm|(?:pascal|volta|turing) (?:fp16 )?hgemm|scudnn|\bffma\b|\bsimt\b|dgrad engine|wgrad alg\d engine"
)
_TENSOR_CORES = re.compile(
    r"tensorop|class tensor op|\b[a-z]+(?:884|1688|16816|16832|161616|8816|8832|16864)(?=gemm|cudnn|fprop|[dw]grad)"
    r"|\b(?:[hidq]mma|wmma|w?gmma|umma|mfma|tcgen05|utcmma)|xdl|gtcx|tensor\d+x\d+x\d+|warpgroupsize|warp ?specialized"
    r"|nvjet|cutlass ?3x|xmma gemm (?:bf16|f16|tf32|i8|e[45]m)|deep gemm::|machete|marlin|^bmm .*\bsm1\d\d"
    r"|gemm sm(?:90|1\d\d)|^cijk .* mi\d+x\d|\bfmha (?:fwd|bwd|batch|v2|sm\d+)|prefill with"
    r"|flash ?attn (?:fwd|bwd) sm\d|fmha cutlass ?[fb] b?f16 .*sm(?:[789]|1\d)\d"
    r"|flash (?:fwd|bwd) (?:(?!.{0,20}combine).{0,30}kernel\b(?! traits)|dq dk dv loop)"
)

# Kernels that run what their template arguments name: with a word of their own, and without.
_ELEMENTWISE = re.compile(r"[Ee]lementwise_?[Kk]ernel")
_WRAPPER = re.compile(rf"{_ELEMENTWISE.pattern}|[Rr]educe_?[Kk]ernel$|multi_tensor_apply|index_kernel$")
_STUB = re.compile(r"(?:^|::)(?:Kernel\d?|device_kernel|kentry|_?kernel_agent|trampoline_kernel)$")
# What leads up to the thing a wrapper runs.
_CARRIER = re.compile(
    r"(?:un)?signed|const|struct|void|bool|char|u?short|int|long|float|double|true|false|nullptr|operator|lambda|instance"
    r"|(?:__)?(?:nv_|hip_|c10_)?(?:B?[Hh]alf|[Bb][Ff]loat16)(?:_t)?|u?int\d+_t|complex|[Aa]rray|enable_sm\w+|\w+Metadata"
    r"|(?:opmath_)?gpu_(?:kernel|index)\w*|(?:AU|BU|B)(?:nary|inary)Functor|(?:Unary|Binary|Pointwise|Ternary)Op\w*Functor_?"
    r"|ReduceOp|func_wrapper_t|type_specialized\w*|apply|ZeroFunctor"
)
# Classes whose template numbers are tile shapes, head sizes and rank counts.
_TILED = frozenset(("attention", "GEMM", "MoE", "convolution", "recurrent", "collective"))

# Function names that need their namespace.
_BARE = frozenset(("kernel", "dispatch", "combine", "run", "compute"))
_READ = 4000  # Longer names are judged by their beginning.
_SHORT = 60
_PASSES = 8
_REMEMBERED = 65_536


class _Parts(NamedTuple):
    own: str  # at::native::reduce_kernel
    arguments: str  # what stands between its last template brackets


@lru_cache(_REMEMBERED)
def kernel_class(name: str) -> str:
    """One of CLASSES; `other` where no pattern knows the name."""
    if collective_family(name):
        return "collective"
    parts = _split(name)
    if _WRAPPER.search(parts.own):
        return _first(_TABLE, _words(f"{parts.own} {_told(parts.arguments)}")) or "other"
    runs = _words(parts.arguments) if _STUB.search(parts.own) else ""
    return _first(_TABLE, _words(parts.own)) or _first(_TABLE, runs) or "other"


@lru_cache(_REMEMBERED)
def collective_family(name: str) -> str | None:
    """Whose collective a kernel is, such as NCCL or `custom all-reduce`; None for one that is no collective."""
    words = _words(_split(name).own)
    return None if _AROUND_COLLECTIVE.match(words) else _first(_COLLECTIVES, words)


@lru_cache(_REMEMBERED)
def collective_operation(name: str) -> str:
    """What a collective does: all-reduce, all-gather, reduce-scatter, all-to-all, broadcast, reduce, send/recv,
    dispatch, combine or barrier; `unknown` where the name does not say, and for every other kernel."""
    return (collective_family(name) and _first(_OPERATIONS, _words(_split(name).own))) or "unknown"


@lru_cache(_REMEMBERED)
def is_plain_core_matrix(name: str) -> bool:
    """Whether a matrix or convolution kernel runs on ordinary cores where tensor cores could do its work.

    Matrix-vector and complex products, depthwise convolutions and the transforms around FFT and Winograd are not
    counted: tensor cores would not speed them up.
    """
    return uses_tensor_cores(name) is False


@lru_cache(_REMEMBERED)
def uses_tensor_cores(name: str) -> bool | None:
    """True and False where the name says that tensor (or matrix) cores do the products or do not; else None.

    Triton's names say nothing, and most kernels have no product to do.
    """
    parts = _split(name)
    words = f"{_words(parts.own)} {_words(parts.arguments)}"
    if _PLAIN_CORES.search(words):
        return False
    return True if _TENSOR_CORES.search(words) else None


@lru_cache(_REMEMBERED)
def short_name(name: str) -> str:
    """The function's own name without return type, namespaces, template arguments and parameters, for display.

    A wrapper shows what it runs: ``vectorized_elementwise FillFunctor``. At most 60 characters; empty for an empty
    name only.
    """
    parts = _split(name)
    scope, _, own = parts.own.rpartition("::")
    if own in _BARE:
        own = f"{scope.rpartition('::')[-1]}::{own}".removeprefix("::")
    told = _told(parts.arguments)
    if told and _STUB.search(parts.own):
        own = told
    elif told and _WRAPPER.search(parts.own):
        own = f"{own.replace('_kernel', '').removesuffix('Kernel')} {told}"
    elif found := _TENSILE.match(own):
        own = f"{'_'.join(found[1].split('_')[:5])} {found[2]}"
    own = own.strip() or name.strip() or name
    return own if len(own) <= _SHORT else own[: _SHORT - 3] + "..."


@lru_cache(_REMEMBERED)
def normalised_name(name: str) -> str:
    """The name under which the same kernel of two builds or two captures meets, and different kernels do not.

    Removed: return type, parameters, clone and ``.kd`` suffixes, anonymous and versioned namespaces, what a library's
    version adds to its kernels (``cudnn_infer_``, ``__5x_cublas``), the numbering of lambdas, CUB policies and Triton
    kernels, argument hashes and addresses, the spelling of casts (``(int)4``, ``4u``), the operand arrays and offset
    calculators of elementwise wrappers, and the tuning that follows tile and instruction in a Tensile name. Numbers
    among the template arguments are launch bounds, vector widths and unroll factors and go too, except in products,
    attention, convolutions, recurrences and collectives, where they are tiles, head sizes and ranks.

    Kept, as they decide what runs and how fast: types, layouts (nt, nn, tn), truth values, and every number inside an
    identifier, so that another tile is another kernel. Mangled names keep all of their arguments. Idempotent.
    """
    whole = name
    for _ in range(_PASSES):
        shorter = _normalised_once(name)
        if not shorter or len(shorter) >= len(name):
            return name
        name = shorter
    return whole  # No compiler nests that deep.


def _normalised_once(name: str) -> str:
    if name.startswith("_Z"):
        return _SUFFIX.sub("", name)
    parts = _split(name)
    own = _TENSILE.sub(r"\1_\2\3", _SIGNATURE.sub("", parts.own))
    if _INDUCTOR.match(own):
        own = _NUMBERED.sub("", own)
    own, arguments = _plain(own), _plain(parts.arguments)
    if _ELEMENTWISE.search(own):
        arguments = _up_to_functor(arguments)
    if kernel_class(name) not in _TILED:
        arguments = _LEFT_OVER.sub("", _NUMBER.sub("", arguments)).replace("<>", "")
    return f"{own}<{arguments}>" if arguments else own


def _plain(arguments: str) -> str:
    """Template arguments in one spelling, without the parameter lists and numbering inside them."""
    for pattern, written in _SPELLINGS:
        arguments = re.sub(pattern, written, arguments)
    return arguments.strip(" ,")


def _up_to_functor(arguments: str) -> str:
    depth = start = 0
    for found in _LIST.finditer(arguments):
        depth = max(depth + (found[0] in "<([") - (found[0] in ">)]"), 0)
        if found[0] == "," and not depth:
            if _told(arguments[start : found.start()]):
                return arguments[: found.start()]
            start = found.end()
    return arguments


def _told(arguments: str) -> str:
    """The first thing template arguments name that is no namespace, plain type or further wrapper."""
    names = (found[0] for found in _IDENTIFIER.finditer(arguments))
    return next((name for name in names if not name.endswith("::") and not _CARRIER.fullmatch(name)), "")


def _words(text: str) -> str:
    return _CUTS.sub(" ", text[:_READ]).lower().strip()


@lru_cache(_REMEMBERED)
def _split(name: str) -> _Parts:
    """Own name and template arguments of a demangled, mangled or plain name, in one pass over its brackets."""
    text = _demangled(name) if name.startswith("_Z") else name
    text = _BUILD.sub("", _SUFFIX.sub("", text.strip()))
    stack: list[str] = []
    unclosed = dict.fromkeys(_CLOSES.values(), 0)
    pieces: list[str] = []
    arguments = slice(0, 0)
    at = opened = 0
    for found in _BRACKET.finditer(text):
        mark = found[0]
        if len(mark) > 1:
            continue
        if mark in unclosed:
            if not stack:
                pieces.append(text[at : found.start()])
                opened = found.end()
                if _SPACED.search(pieces[-1]):  # What came before was the return type.
                    arguments = slice(0, 0)
            stack.append(mark)
            unclosed[mark] += 1
        elif unclosed[_CLOSES[mark]] and (mark != ">" or stack[-1] == "<"):
            while (last := stack.pop()) != _CLOSES[mark]:
                unclosed[last] -= 1
            unclosed[last] -= 1
            if not stack:
                at = found.end()
                if mark == ">":
                    arguments = slice(opened, found.start())
                elif mark == ")" and text[at : at + 1].strip() == "" and any(pieces):
                    break
    else:
        if stack[:1] == ["<"]:
            arguments = slice(opened, None)
        elif not stack:
            pieces.append(text[at:])
    own = "".join(pieces)
    if (len(pieces) > 1 or own.startswith("void ")) and own.split():
        own = own.split()[-1]
    return _Parts(own.strip() or text, text[arguments])


def _demangled(name: str) -> str:
    """An Itanium-mangled name as far as judging it needs: own::name<every identifier among the arguments>."""
    nested = name.startswith("_ZN")
    own: list[str] = []
    told: list[str] = []
    at = end = 2 + nested
    while (found := _LENGTH.match(name, at)) and (nested or not own):
        at = found.end() + int(found[1])
        own.append(name[found.end() : at])
    while found := _ENCODED.search(name, at):
        follows, at = found.start() == end, found.end()
        identifier = name[at : at + int(found[1] or 0)]
        if identifier.isidentifier():
            at = end = at + len(identifier)
            told += ["::" if follows else ", ", identifier]
    joined = "::".join(part for part in own if not part.startswith("_GLOBAL__N_"))
    return f"{joined}<{''.join(told[1:])}>" if told and joined else joined or name


def _first(table: tuple[tuple[str, str], ...], words: str) -> str | None:
    return next((kind for kind, pattern in table if re.search(pattern, words)), None)


# Every repetition is bounded or starts where nothing else can, so that no name takes more than linear time.
_CUTS = re.compile(r"_+|(?<=[a-z0-9])(?=[A-Z])")
_BRACKET = re.compile(r"operator ?(?:\(\)|<<|>>|[<>]=?|->)|->|[<>(){}\[\]]")
_CLOSES = {">": "<", ")": "(", "}": "{", "]": "["}
_SPACED = re.compile(r"\s\S")
_SUFFIX = re.compile(r"(?:\.kd| ?\[clone [^\]]{0,80}\]|\.(?:part|isra|constprop|llvm|intern)\.\d{1,20})$")
_BUILD = re.compile(
    r"(?:\(anonymous namespace\)|<unnamed>|\{anonymous\}|at_cuda_detail|(?:CUB|THRUST|ROCPRIM|HIPCUB)_\d\w{0,80})::"
    r"|__5x_cu(?:blas|dnn)(?![a-z])|_cudnn_(?:infer|train)(?=::)"
    r"|^cudnn_(?:infer_|train_)?(?=(?:maxwell|pascal|volta|turing|ampere|hopper)_)"
)
_IDENTIFIER = re.compile(r"(?<!\w)[A-Za-z_]\w*(?:::(?!lambda))?")
_LENGTH = re.compile(r"[rVK]{0,3}(?:St)?(\d{1,4})")
_ENCODED = re.compile(r"L[a-z]n?\d{1,20}E|E\d{1,20}E|DF\d{1,4}[b_x]|S[0-9A-Z]{0,4}_|T\d{0,4}_|A\d{1,20}_|(\d{1,4})")
_TENSILE = re.compile(r"^(Cijk_\w*?)_(MT\d+x\d+x\d+)((?:_MI\d+x\d+x\d+)?)\w*")
_INDUCTOR = re.compile(r"triton_(?:poi|red|per|tem|for|tpl|mix|unk)_")
_NUMBERED = re.compile(r"(?<!_fused)_\d+$")
_SIGNATURE = re.compile(r"(?<=[a-z0-9])_0d[0-9cde]*$")
_SPELLINGS = (
    (r"\s+", " "),
    (r"\(bool\) ?0", "false"),
    (r"\(bool\) ?1", "true"),
    (r"\((?:unsigned )?(?:int|long|short|char|long long)\) ?(?=-?\d)", ""),
    (r"[{\[]lambda ?\(([^(){}\[\]]{0,400})\)(?:#\d+| \(instance \d+\))?[}\]]", r"lambda[\1]"),
    (r"::operator ?\(\)", ""),
    (r"::lambda\[\](?:\(\))?(?: const)?(?=::)", ""),
    (r"(?<=[\w>\]])\([^()]*\)(?: const(?=::))?", ""),
    (r"(?:(?<=[<, ])|^)void (?=[A-Za-z_])", ""),
    (r"(?<!\w)(\d+)[uUlL]+(?!\w)", r"\1"),
    (r"Policy\d+", "Policy"),
    (r"(?<![0-9A-Za-z])0x[0-9a-fA-F]+", "0x"),
    (r" ?([<>,*&]) ?", r"\1"),
)
_NUMBER = re.compile(r"(?:(?<=[<,])(?<!OpaqueType<)|^)-?\d+(?=[,>]|$)")
_LEFT_OVER = re.compile(r"(?<=[<,]),+|^,+|,+(?=>|$)")
_LIST = re.compile(r"[<>()\[\],]")
