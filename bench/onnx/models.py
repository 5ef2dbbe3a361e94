"""Larger models for `deno task bench onnx`, with random weights and the shapes of models that people run: FOLDER/NAME.onnx, and
NAME.io.bin with inputs and what native onnxruntime gives, as tests/onnx/make_models_pack.py reads them.

    python bench/onnx/models.py FOLDER [NAME]...      (pip: torch, transformers, onnx, onnxruntime)
"""
import contextlib, io, json, os, sys, tempfile, warnings
import numpy as np
import torch, torch.nn as nn
import transformers as tr
from transformers.cache_utils import DynamicCache, EncoderDecoderCache
import onnx, onnxruntime as ort

warnings.filterwarnings("ignore")
torch.manual_seed(0)
ort.set_default_logger_severity(3)
R = np.random.default_rng(0)


class Of(nn.Module):
    """A module whose inputs and outputs are those of a function."""

    def __init__(self, module, function):
        super().__init__()
        self.module, self.function = module, function

    def forward(self, *args):
        return self.function(self.module, *args)


def export(module, args, inputs, outputs, dynamic=None, opset=17):
    with torch.no_grad():
        for p in module.parameters():
            if p.dim() > 1:
                p.copy_(torch.randn(p.shape) * 0.9 / np.prod(p.shape[1:]) ** 0.5)
    module.eval()
    file = io.BytesIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        torch.onnx.export(module, args, file, input_names=inputs, output_names=outputs, dynamic_axes=dynamic,
                          opset_version=opset, dynamo=False)
    return file.getvalue()


def run(model, feeds):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, feeds)))


def save(folder, name, model, feeds, tol=1e-4):
    outputs, blob = run(model, feeds), bytearray()

    def entry(x):
        data, at = np.ascontiguousarray(x).tobytes(), len(blob)
        blob.extend(data)
        return {"d": x.dtype.name, "s": list(x.shape), "b": [at, len(data)]}

    head = {"tol": tol, "sets": [[{k: entry(v) for k, v in side.items()} for side in (feeds, outputs)]]}
    with open(os.path.join(folder, name + ".onnx"), "wb") as file:
        file.write(model)
    with open(os.path.join(folder, name + ".io.bin"), "wb") as file:
        file.write(json.dumps(head).encode() + b"\n" + bytes(blob))
    print(name, len(model), "bytes", {k: v.shape for k, v in outputs.items()}, flush=True)


def numpy_of(args, names):
    return {k: a.detach().numpy() for k, a in zip(names, args)}


BERT_SIZE = dict(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536, vocab_size=4000,
                 attn_implementation="eager")


def bert():
    module = Of(tr.BertModel(tr.BertConfig(**BERT_SIZE)), lambda m, i, a, t: m(input_ids=i, attention_mask=a, token_type_ids=t)[:2])
    names = ["input_ids", "attention_mask", "token_type_ids"]
    args = (torch.randint(5, 4000, (1, 128)), torch.ones(1, 128, dtype=torch.int64), torch.zeros(1, 128, dtype=torch.int64))
    args[1][:, 100:] = 0
    dynamic = {k: {0: "batch", 1: "sequence"} for k in [*names, "last_hidden_state"]}
    return export(module, args, names, ["last_hidden_state", "pooler_output"], dynamic), numpy_of(args, names)


def quantised(make, **options):
    from onnxruntime.quantization import quantize_dynamic
    model, feeds = make()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.onnx")
        open(path, "wb").write(model)
        quantize_dynamic(path, path + "q", **options)
        return open(path + "q", "rb").read(), feeds


def images(module, size, name="pixel_values"):
    x = torch.randn(1, 3, size, size)
    for part in module.modules():
        if isinstance(part, nn.BatchNorm2d):
            part.running_mean.normal_()
            part.running_var.uniform_(0.5, 2)
    return module, (x,), [name]


def mobilenet(fold=True):
    config = tr.MobileNetV2Config(image_size=224)
    module, args, names = images(tr.MobileNetV2ForImageClassification(config), 224)
    model = export(Of(module, lambda m, x: m(x).logits), args, names, ["logits"], {"pixel_values": {0: "batch"}})
    return model, numpy_of(args, names)


def resnet(depths=(2, 2, 2, 2), layer="basic", sizes=(64, 128, 256, 512)):
    config = tr.ResNetConfig(depths=list(depths), layer_type=layer, hidden_sizes=list(sizes), num_labels=1000)
    module, args, names = images(tr.ResNetForImageClassification(config), 224)
    dynamic = {"pixel_values": {0: "batch", 2: "height", 3: "width"}}
    return export(Of(module, lambda m, x: m(x).logits), args, names, ["logits"], dynamic), numpy_of(args, names)


def resnet_int8():
    from onnxruntime.quantization import quantize_static, QuantFormat, QuantType
    model, feeds = resnet()

    class Reader:
        items = [feeds]

        def get_next(self):
            return self.items.pop() if self.items else None

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.onnx")
        open(path, "wb").write(model)
        quantize_static(path, path + "q", Reader(), quant_format=QuantFormat.QDQ, activation_type=QuantType.QUInt8,
                        weight_type=QuantType.QInt8, per_channel=True)
        return open(path + "q", "rb").read(), feeds


def vit():
    config = tr.ViTConfig(image_size=224, patch_size=16, hidden_size=192, num_hidden_layers=6, num_attention_heads=3,
                          intermediate_size=768, num_labels=1000, attn_implementation="eager")
    module, args, names = images(tr.ViTForImageClassification(config), 224)
    return export(Of(module, lambda m, x: m(x).logits), args, names, ["logits"], {"pixel_values": {0: "batch"}}), numpy_of(args, names)


def llama(past=255):
    layers, heads = 6, 4
    config = tr.LlamaConfig(vocab_size=4000, hidden_size=512, intermediate_size=1408, num_hidden_layers=layers, num_attention_heads=8,
                            num_key_value_heads=heads, max_position_embeddings=1024, attn_implementation="eager")

    def forward(m, i, a, p, *kv):
        cache = DynamicCache()
        for layer in range(layers):
            cache.update(kv[2 * layer], kv[2 * layer + 1], layer)
        o = m(input_ids=i, attention_mask=a, position_ids=p, past_key_values=cache, use_cache=True)
        return (o.logits, *[t for layer in o.past_key_values.layers for t in (layer.keys, layer.values)])

    kv = [f"past_key_values.{layer}.{k}" for layer in range(layers) for k in ("key", "value")]
    names = ["input_ids", "attention_mask", "position_ids", *kv]
    args = (torch.randint(1, 4000, (1, 1)), torch.ones(1, past + 1, dtype=torch.int64), torch.tensor([[past]]),
            *[torch.randn(1, heads, past, 64) for _ in kv])
    present = [k.replace("past_key_values", "present") for k in kv]
    dynamic = {"input_ids": {0: "batch_size", 1: "sequence_length"}, "attention_mask": {0: "batch_size", 1: "total_length"},
               "position_ids": {0: "batch_size", 1: "sequence_length"}, **{k: {0: "batch_size", 2: "past_length"} for k in kv},
               **{k: {0: "batch_size", 2: "total_length"} for k in present}}
    return export(Of(tr.LlamaForCausalLM(config), forward), args, names, ["logits", *present], dynamic), numpy_of(args, names)


def llama_int4():
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer
    model, feeds = llama()
    quantizer = MatMulNBitsQuantizer(onnx.load_from_string(model), block_size=32, is_symmetric=True, accuracy_level=0)
    quantizer.process()
    return quantizer.model.model.SerializeToString(), feeds


def gpt2(past=64, tokens=1):
    layers, heads, size = 6, 8, 512
    config = tr.GPT2Config(vocab_size=4000, n_positions=512, n_embd=size, n_layer=layers, n_head=heads, attn_implementation="eager")

    def forward(m, i, a, *kv):
        cache = DynamicCache()
        for layer in range(layers):
            cache.update(kv[2 * layer], kv[2 * layer + 1], layer)
        o = m(input_ids=i, attention_mask=a, position_ids=(kv[0].shape[2] + torch.arange(i.shape[1]))[None], past_key_values=cache,
              use_cache=True)
        return (o.logits, *[t for layer in o.past_key_values.layers for t in (layer.keys, layer.values)])

    kv = [f"past_key_values.{layer}.{k}" for layer in range(layers) for k in ("key", "value")]
    names = ["input_ids", "attention_mask", *kv]
    args = (torch.randint(1, 4000, (1, tokens)), torch.ones(1, past + tokens, dtype=torch.int64),
            *[torch.randn(1, heads, past, size // heads) for _ in kv])
    present = [k.replace("past_key_values", "present") for k in kv]
    dynamic = {"input_ids": {0: "batch_size", 1: "sequence_length"}, "attention_mask": {0: "batch_size", 1: "total_length"},
               **{k: {0: "batch_size", 2: "past_length"} for k in kv}, **{k: {0: "batch_size", 2: "total_length"} for k in present}}
    return export(Of(tr.GPT2LMHeadModel(config), forward), args, names, ["logits", *present], dynamic), numpy_of(args, names)


WHISPER = dict(vocab_size=4000, d_model=384, encoder_layers=2, encoder_attention_heads=6, encoder_ffn_dim=1536, decoder_layers=2,
               decoder_attention_heads=6, decoder_ffn_dim=1536, max_source_positions=500, num_mel_bins=80, attn_implementation="eager",
               pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, suppress_tokens=[], begin_suppress_tokens=[])


def whisper_encoder():
    module = Of(tr.WhisperForConditionalGeneration(tr.WhisperConfig(**WHISPER)).model.encoder, lambda e, x: e(x).last_hidden_state)
    args = (torch.randn(1, 80, 1000),)
    return export(module, args, ["input_features"], ["last_hidden_state"], {"input_features": {0: "batch"}}), numpy_of(args, ["input_features"])


def whisper_decoder():
    layers, module = 2, tr.WhisperForConditionalGeneration(tr.WhisperConfig(**WHISPER))

    def forward(m, i, h, *kv):
        own, cross = DynamicCache(), DynamicCache()
        for layer in range(layers):
            own.update(kv[4 * layer], kv[4 * layer + 1], layer)
            cross.update(kv[4 * layer + 2], kv[4 * layer + 3], layer)
        past = EncoderDecoderCache(own, cross)
        for layer in range(layers):
            past.is_updated[layer] = True
        positions = (kv[0].shape[2] + torch.arange(i.shape[1]))[None]
        o = m(decoder_input_ids=i, encoder_outputs=(h,), past_key_values=past, use_cache=True, decoder_position_ids=positions)
        p = o.past_key_values.self_attention_cache.layers
        return (o.logits, *[t for layer in p for t in (layer.keys, layer.values)])

    kv = [f"past_key_values.{layer}.{w}.{k}" for layer in range(layers) for w in ("decoder", "encoder") for k in ("key", "value")]
    own = [k for k in kv if ".decoder." in k]
    names = ["input_ids", "encoder_hidden_states", *kv]
    args = (torch.randint(3, 4000, (1, 1)), torch.randn(1, 500, 384),
            *[torch.randn(1, 6, 20 if k in own else 500, 64) for k in kv])
    present = [k.replace("past_key_values", "present") for k in own]
    dynamic = {"input_ids": {0: "batch_size", 1: "sequence_length"},
               **{k: {0: "batch_size", 2: "past_length" if k in own else "encoder_length"} for k in kv}}
    model = export(Of(module, forward), args, names, ["logits", *present], dynamic)
    used = {i.name for i in onnx.load_from_string(model).graph.input}
    return model, {k: v for k, v in numpy_of(args, names).items() if k in used}


def lstm():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(128, 256, 2, batch_first=True)
            self.head = nn.Linear(256, 40)

        def forward(self, x):
            return self.head(self.lstm(x)[0])

    args = (torch.randn(1, 100, 128),)
    return export(Net(), args, ["x"], ["y"], {"x": {0: "batch", 1: "time"}}), numpy_of(args, ["x"])


MODELS = {
    "big_bert": bert,
    "big_bert_int8": lambda: quantised(bert),
    "big_vit": vit,
    "big_mobilenet": mobilenet,
    "big_resnet": resnet,
    "big_resnet50": lambda: resnet((3, 4, 6, 3), "bottleneck", (256, 512, 1024, 2048)),
    "big_resnet_int8": resnet_int8,
    "big_gpt2_token": gpt2,
    "big_gpt2_prompt": lambda: gpt2(1, 63),
    "big_llama_token": llama,
    "big_llama_int4_token": llama_int4,
    "big_whisper_encoder": whisper_encoder,
    "big_whisper_decoder": whisper_decoder,
    "big_lstm": lstm,
}

if __name__ == "__main__":
    folder, *wanted = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    for name, make in MODELS.items():
        if not wanted or name in wanted:
            try:
                # Levels at ties turn over, which layers of random weights make larger.
                save(folder, name, *make(), tol=6e-2 if "int" in name else 1e-4)
            except Exception as error:
                print("FAILED", name, type(error).__name__, str(error)[:300], flush=True)
