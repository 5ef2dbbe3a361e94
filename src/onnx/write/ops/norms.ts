/** Norms and softmax, over images and over rows. */
import { channelsFirst, channelsLast } from "../layout.ts";
import type { NodeWriter } from "../node_writer.ts";
import type { Ref } from "../ref.ts";
import type { WriteRules } from "../rule.ts";

/** An image in ONNX's form gets one node; anything else is its expression. */
function batchNorm(n: NodeWriter): Ref | null {
  const [x, mean, variance, offset, scale] = n.xs, channels = x.shape?.at(-1);
  const each = [scale, offset, mean, variance];
  const isVector = each.every((v) => v.shape?.length === 1 && v.shape[0] === channels);
  const isHalf = x.dtype !== "float32" && x.dtype !== "float64";
  if (x.first === null || channels == null || !isVector || isHalf) return null;
  const y = n.node("BatchNormalization", [x.first, ...each], {
    epsilon: n.attrs.epsilon as number,
  });
  return channelsLast(n, y, n.rank(x));
}

function lrn(n: NodeWriter): Ref {
  const [x] = n.xs, { depth_radius, bias, alpha, beta } = n.attrs as Record<string, number>;
  const size = 2 * depth_radius + 1;
  const y = n.node("LRN", [channelsFirst(n, x)], {
    size: BigInt(size),
    alpha: alpha * size,
    beta,
    bias,
  });
  return channelsLast(n, y, n.rank(x));
}

export const NORMS: WriteRules = {
  LRN: lrn,
  LogSoftmax: (n) => n.node("LogSoftmax", n.xs, { axis: -1n }),
  Softmax: (n) => n.node("Softmax", n.xs, { axis: -1n }),
  _BatchNorm: batchNorm,
  _LayerNorm: (n) =>
    n.node("LayerNormalization", n.xs, { axis: -1n, epsilon: n.attrs.epsilon as number }),
};
