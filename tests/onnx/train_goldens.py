"""Writes fixtures/training.json: what 20 steps of training give for the models of fixtures/models.bin.gz in torch, node by node, and the
gradients of their weights. Tests need no Python.

    python tests/onnx/train_goldens.py [NAME ...]         (onnx, numpy, torch 2)
"""
import gzip, json, os, sys
import numpy as np, onnx, torch, torch.nn.functional as F
from onnx import numpy_helper

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fixtures")
# The optimizer and a rate at which float32 and float64 give the same losses to 2e-4.
MODELS = {"bert_dynamo": ("sgd", .05), "convnext": ("sgd", .002), "gru": ("adam", .01), "llama_with_past": ("sgd", .05),
          "lstm_bidirectional": ("adam", .01), "resnet": ("sgd", .001), "segmentation": ("adam", .003), "t5_encoder": ("sgd", .02),
          "unet": ("sgd", .0005), "vad_like": ("adam", .01), "voice_like": ("adam", .0003), "whisper_decoder_with_past": ("sgd", .05),
          "whisper_encoder": ("sgd", .02)}
STEPS = 20


def ints(t): return [int(v) for v in t.reshape(-1).tolist()]


def pool_pads(a, n):
    p = list(a.get("pads", [0] * 2 * n))
    assert p[:n] == p[n:]
    return p[:n]


def conv(a, x, w, b=None):
    n = x.dim() - 2
    p = list(a.get("pads", [0] * 2 * n))
    if p[:n] != p[n:]:
        x, p = F.pad(x, [v for i in reversed(range(n)) for v in (p[i], p[i + n])]), [0] * n
    f = [F.conv1d, F.conv2d, F.conv3d][n - 1]
    return f(x, w, b, a.get("strides", [1] * n), p[:n], a.get("dilations", [1] * n), a.get("group", 1))


def conv_transpose(a, x, w, b=None):
    n = x.dim() - 2
    f = [F.conv_transpose1d, F.conv_transpose2d][n - 1]
    return f(x, w, b, a.get("strides", [1] * n), pool_pads(a, n), a.get("output_padding", [0] * n), a.get("group", 1), a.get("dilations", [1] * n))


def resize(a, x, roi=None, scales=None, sizes=None):
    to = ints(sizes)[2:] if sizes is not None else [int(np.floor(d * s)) for d, s in zip(x.shape[2:], scales.tolist()[2:])]
    if to == list(x.shape[2:]): return x
    mode = {"nearest": "nearest", "linear": "bilinear", "cubic": "bicubic"}[a["mode"]]
    corners = a.get("coordinate_transformation_mode") == "align_corners"
    return F.interpolate(x, size=to, mode=mode, **({} if mode == "nearest" else {"align_corners": corners}))


def window(a, x, starts, ends, axes=None, steps=None):
    axes = ints(axes) if axes is not None else list(range(len(starts)))
    for i, (s, e, axis) in enumerate(zip(ints(starts), ints(ends), axes)):
        step = ints(steps)[i] if steps is not None else 1
        places = list(range(x.shape[axis]))[s:e:step]
        x = x.index_select(axis, torch.tensor(places, dtype=torch.int64))
    return x


def reshape(a, x, shape):
    return x.reshape([x.shape[i] if d == 0 else d for i, d in enumerate(ints(shape))])


def lstm(a, x, w, r, b=None, lens=None, h0=None, c0=None, p=None):
    size, ys, hs, cs = a["hidden_size"], [], [], []
    for d in range(w.shape[0]):
        steps = list(range(x.shape[0]))
        if a.get("direction") == "reverse" or d == 1: steps.reverse()
        bias = b[d][:4 * size] + b[d][4 * size:] if b is not None else 0
        h = h0[d] if h0 is not None else x.new_zeros(x.shape[1], size)
        c = c0[d] if c0 is not None else torch.zeros_like(h)
        out = {}
        for t in steps:
            i, o, f, g = (x[t] @ w[d].T + h @ r[d].T + bias).chunk(4, -1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = out[t] = o.sigmoid() * c.tanh()
        ys.append(torch.stack([out[t] for t in range(x.shape[0])])); hs.append(h); cs.append(c)
    return torch.stack(ys, 1), torch.stack(hs), torch.stack(cs)


def gru(a, x, w, r, b=None, lens=None, h0=None):
    assert a.get("linear_before_reset") == 1 and w.shape[0] == 1
    size, h, ys = a["hidden_size"], h0[0], []
    for t in range(x.shape[0]):
        xz, xr, xn = (x[t] @ w[0].T + b[0][:3 * size]).chunk(3, -1)
        hz, hr, hn = (h @ r[0].T + b[0][3 * size:]).chunk(3, -1)
        z, n = (xz + hz).sigmoid(), (xn + (xr + hr).sigmoid() * hn).tanh()
        h = (1 - z) * n + z * h
        ys.append(h)
    return torch.stack(ys)[:, None], h[None]


def gather(a, x, i):
    axis = a.get("axis", 0) % x.dim()
    i = torch.where(i < 0, i + x.shape[axis], i)
    return x.index_select(axis, i.reshape(-1)).reshape([*x.shape[:axis], *i.shape, *x.shape[axis + 1:]])


def squeeze(a, x, axes=None):
    for axis in sorted([v % x.dim() for v in (ints(axes) if axes is not None else range(x.dim()))], reverse=True): x = x.squeeze(axis)
    return x


def unsqueeze(a, x, axes):
    rank = x.dim() + axes.numel()
    for axis in sorted(v % rank for v in ints(axes)): x = x.unsqueeze(axis)
    return x


def reduce(f):
    def of(a, x, axes=None):
        along = a.get("axes") or (ints(axes) if axes is not None else list(range(x.dim())))
        return f(x, along, bool(a.get("keepdims", 1)))
    return of


def div(a, x, y): return x / y if x.is_floating_point() else torch.div(x, y, rounding_mode="trunc")


def gemm(a, x, w, c=None):
    y = a.get("alpha", 1.) * ((x.T if a.get("transA") else x) @ (w.T if a.get("transB") else w))
    return y if c is None else y + a.get("beta", 1.) * c


def split(a, x, sizes=None):
    axis = a.get("axis", 0)
    return x.split(ints(sizes), axis) if sizes is not None else x.chunk(a.get("num_outputs", 2), axis)


def pad(a, x, pads, value=None, axes=None):
    p = ints(pads); n = len(p) // 2
    flat = [v for i in reversed(range(n)) for v in (p[i], p[i + n])]
    if a.get("mode", b"constant") in ("reflect", b"reflect"):
        while flat[-2:] == [0, 0]: flat = flat[:-2]
        return F.pad(x, flat, mode="reflect")
    return F.pad(x, flat, value=float(value) if value is not None else 0.)


def gather_nd(a, x, i):
    assert a.get("batch_dims", 0) == 0
    return x[tuple(i[..., k] for k in range(i.shape[-1]))]


TYPES = {1: torch.float32, 6: torch.int32, 7: torch.int64, 9: torch.bool, 11: torch.float64}
OPS = {
    "Abs": lambda a, x: x.abs(), "Add": lambda a, x, y: x + y, "And": lambda a, x, y: x & y,
    "AveragePool": lambda a, x: F.avg_pool2d(x, a["kernel_shape"], a.get("strides"), pool_pads(a, 2), bool(a.get("ceil_mode", 0)), bool(a.get("count_include_pad", 0))),
    "Cast": lambda a, x: x.to(TYPES[a["to"]]), "Clip": lambda a, x, lo=None, hi=None: x.clamp(lo, hi),
    "Concat": lambda a, *xs: torch.cat(xs, a["axis"]), "Constant": lambda a: tensor(a["value"]),
    "ConstantOfShape": lambda a, s: torch.full(ints(s), (tensor(a["value"]) if "value" in a else torch.zeros(1)).item(), dtype=tensor(a["value"]).dtype if "value" in a else torch.float32),
    "Conv": conv, "ConvTranspose": conv_transpose, "Cos": lambda a, x: x.cos(), "CumSum": lambda a, x, axis: x.cumsum(int(axis)), "Div": div,
    "Equal": lambda a, x, y: x == y, "Erf": lambda a, x: torch.erf(x), "Exp": lambda a, x: x.exp(),
    "Expand": lambda a, x, s: x.expand(torch.broadcast_shapes(x.shape, tuple(ints(s)))), "Flatten": lambda a, x: x.reshape(int(np.prod(x.shape[:a.get("axis", 1)])), -1),
    "GRU": gru, "Gather": gather, "GatherND": gather_nd, "Gelu": lambda a, x: F.gelu(x, approximate=text(a.get("approximate", "none"))), "Gemm": gemm,
    "GlobalAveragePool": lambda a, x: x.mean(list(range(2, x.dim())), True), "Greater": lambda a, x, y: x > y, "GreaterOrEqual": lambda a, x, y: x >= y,
    "InstanceNormalization": lambda a, x, w, b: F.instance_norm(x, weight=w, bias=b, eps=a.get("epsilon", 1e-5)), "LSTM": lstm,
    "LayerNormalization": lambda a, x, w, b=None: F.layer_norm(x, x.shape[a.get("axis", -1):], w, b, a.get("epsilon", 1e-5)),
    "LeakyRelu": lambda a, x: F.leaky_relu(x, a.get("alpha", .01)), "Less": lambda a, x, y: x < y, "LessOrEqual": lambda a, x, y: x <= y,
    "Log": lambda a, x: x.log(), "MatMul": lambda a, x, y: x @ y, "Max": lambda a, x, *ys: x if not ys else torch.maximum(x, ys[0]),
    "MaxPool": lambda a, x: F.max_pool2d(x, a["kernel_shape"], a.get("strides"), pool_pads(a, 2)), "Min": lambda a, x, y: torch.minimum(x, y),
    "Mod": lambda a, x, y: torch.remainder(x, y), "Mul": lambda a, x, y: x * y, "Neg": lambda a, x: -x, "Not": lambda a, x: ~x,
    "PRelu": lambda a, x, s: torch.where(x < 0, x * s, x), "Pad": pad, "Pow": lambda a, x, y: x ** y, "Range": lambda a, s, e, d: torch.arange(s.item(), e.item(), d.item(), dtype=s.dtype),
    "Reciprocal": lambda a, x: 1 / x, "ReduceMean": reduce(lambda x, d, k: x.mean(d, k)), "ReduceSum": reduce(lambda x, d, k: x.sum(d, k)), "ReduceMax": reduce(lambda x, d, k: x.amax(d, k)),
    "Relu": lambda a, x: F.relu(x), "Reshape": reshape, "Resize": resize, "Shape": lambda a, x: torch.tensor(list(x.shape)[a.get("start", 0):a.get("end")], dtype=torch.int64),
    "Sigmoid": lambda a, x: x.sigmoid(), "Sin": lambda a, x: x.sin(), "Slice": window, "Softmax": lambda a, x: x.softmax(a.get("axis", -1)), "Split": split,
    "Sqrt": lambda a, x: x.sqrt(), "Squeeze": squeeze, "Sub": lambda a, x, y: x - y, "Tanh": lambda a, x: x.tanh(),
    "Transpose": lambda a, x: x.permute(a.get("perm") or list(reversed(range(x.dim())))), "Unsqueeze": unsqueeze, "Where": lambda a, c, x, y: torch.where(c, x, y), "Identity": lambda a, x: x,
}


def text(v): return v.decode() if isinstance(v, bytes) else v


def tensor(t): return torch.from_numpy(np.array(numpy_helper.to_array(t)))


def attributes(node): return {a.name: text(onnx.helper.get_attribute_value(a)) for a in node.attribute}


def run(graph, values, feeds):
    env = {"": None, **values, **feeds}
    for node in graph.node:
        made = OPS[node.op_type](attributes(node), *[env[n] for n in node.input])
        for name, v in zip(node.output, made if isinstance(made, (tuple, list)) else [made]): env[name] = v
    return [env[o.name] for o in graph.output]


def loss_of(outputs):
    # Targets that all programs can make.
    of = lambda y: (y - torch.sin(1.3 * torch.arange(y.numel(), dtype=torch.float64)).to(y.dtype).reshape(y.shape)).square().mean()
    return sum(of(y) for y in outputs if y.is_floating_point())


def read_pack():
    raw = gzip.decompress(open(os.path.join(HERE, "models.bin.gz"), "rb").read())
    at = raw.index(b"\n"); head, body = json.loads(raw[:at]), raw[at + 1:]
    def array(i):
        t = head["tensors"][i]; start, length = t["b"]
        return torch.from_numpy(np.frombuffer(body[start:start + length], t["d"]).reshape(t["s"]).copy())
    return {c["n"]: (body[c["m"][0]:sum(c["m"])], [[[array(i) for i in side] for side in pair] for pair in c["sets"]], c["scale"]) for c in head["cases"]}


def trained(graph, values):
    """Floats that nodes compute with: no scalars, none that tell a size or a place."""
    told = {"Resize": (1, 2), "Pad": (2,), "Clip": (), "Expand": (), "ConstantOfShape": ()}
    weights = {n.input[i] for n in graph.node for i in range(len(n.input)) if i not in told.get(n.op_type, ())}
    return [n for n, v in values.items() if v.is_floating_point() and v.dim() > 0 and n in weights]


def golden(file, sets, scale, how, rate):
    graph = onnx.load_from_string(file).graph
    values = {t.name: tensor(t) for t in graph.initializer}
    names = [v.name for v in graph.input if v.name not in values]
    inputs, wanted = sets[0]
    feeds = dict(zip(names, inputs))
    for got, want in zip(run(graph, values, feeds), wanted):
        assert (got - want).abs().max() <= 2 * scale * want.abs().max() + 1e-6, (got - want).abs().max()
    weights = trained(graph, values)
    for n in weights: values[n] = values[n].requires_grad_()
    optimizer = (torch.optim.SGD if how == "sgd" else torch.optim.Adam)([values[n] for n in weights], lr=rate)
    losses, grads = [], {}
    for step in range(STEPS + 1):
        optimizer.zero_grad()
        loss = loss_of(run(graph, values, feeds))
        losses.append(float(f"{loss.item():.7g}"))
        loss.backward()
        if step == 0:
            for n in weights:
                g = values[n].grad
                if g is None: g = torch.zeros_like(values[n])
                by = torch.sin(0.7 * torch.arange(g.numel(), dtype=torch.float64) + 1).reshape(g.shape)
                grads[n] = [float(f"{(g.double() * by).sum().item():.6g}"), float(f"{g.double().norm().item():.6g}")]
        optimizer.step()
    return {"optimizer": how, "rate": rate, "losses": losses, "grads": grads}


if __name__ == "__main__":
    torch.set_num_threads(1)
    path = os.path.join(HERE, "training.json")
    known = json.load(open(path)) if os.path.exists(path) else {}
    pack = read_pack()
    for name in sys.argv[1:] or MODELS:
        known[name] = golden(*pack[name], *MODELS[name])
        print(name, len(known[name]["grads"]), known[name]["losses"][0], known[name]["losses"][-1], flush=True)
    with open(path, "w") as out:
        out.write("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}" for k, v in sorted(known.items())) + "\n}\n")
