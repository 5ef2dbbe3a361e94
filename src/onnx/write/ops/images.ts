/** Images resized, and boxes selected. */
import type { NodeAttributes } from "../builder.ts";
import { concat, extents, gather, reshape, scalarOf } from "../helpers.ts";
import { channelsFirst, channelsLast } from "../layout.ts";
import type { NodeWriter } from "../node_writer.ts";
import { intsOf, type Ref } from "../ref.ts";
import type { WriteRule, WriteRules } from "../rule.ts";

/** Makes the rule of a resize, by attributes of ONNX's. */
function resize(of: (attrs: NodeWriter["attrs"]) => NodeAttributes, asFloat: boolean): WriteRule {
  return (n) => {
    const [given, size] = n.xs,
      x = asFloat && given.dtype !== "float16" ? n.cast(given, "float32") : given;
    const { align_corners, half_pixel_centers } = n.attrs;
    const mode = align_corners ? "align_corners" : half_pixel_centers ? "half_pixel" : "asymmetric";
    const first = channelsFirst(n, x);
    const known = intsOf(size), { shape } = first;
    const sizes = known !== null && shape?.[0] != null && shape[1] !== null
      ? n.int64s([shape[0], shape[1]!, ...known])
      : concat(n, [extents(n, first, 0, 2), n.wide(size)], 0);
    const y = n.node("Resize", [first, null, null, sizes], {
      coordinate_transformation_mode: mode,
      ...of(n.attrs),
    }, { operands: [0] });
    const out = channelsLast(n, y, 4);
    if (out.dtype === n.dtype) return out;
    return n.cast(out, n.dtype);
  };
}

/** Returns the places of the boxes that overlap less than allowed, best first. */
function selected(n: NodeWriter): Ref {
  const [boxes, scores, most, iou, least] = n.xs;
  const flag = (x: Ref | undefined): Ref | null =>
    x === undefined ? null : reshape(n, n.cast(x, "float32"), [1]);
  const found = n.raw(
    "NonMaxSuppression",
    [
      reshape(n, n.cast(boxes, "float32"), [1, -1, 4]),
      reshape(n, n.cast(scores, "float32"), [1, 1, -1]),
      reshape(n, n.wide(most), [1]),
      flag(iou),
      flag(least),
    ],
    {},
    [{ dtype: "int64", shape: [null, 3] }],
  )[0];
  return gather(n, found, n.scalar(2, "int64"), 1);
}

function nonMaxSuppression(n: NodeWriter): Ref | readonly Ref[] {
  if (n.attrs.pad_to_max_output_size === true) n.lacks("it pads its result");
  if (n.def.name === "NonMaxSuppressionV5") {
    const sigma = n.xs[5].known?.item();
    if (sigma !== 0) n.lacks("it lowers scores softly");
  }
  const at = selected(n), picked = n.narrow(at, n.dtype);
  if (n.def.name === "NonMaxSuppressionV3") return picked;
  const count = n.narrow(scalarOf(n, extents(n, at, 0, 1)), "int32");
  if (n.def.name === "NonMaxSuppressionV4") return [picked, count];
  return [picked, gather(n, n.xs[1], at, 0), count];
}

/** Makes the rule of a move between channels and blocks of pixels. */
function blocks(op: "DepthToSpace" | "SpaceToDepth"): WriteRule {
  return (n) => {
    const [x] = n.xs, blocksize = BigInt(n.attrs.block_size as number);
    if (n.attrs.data_format === "NCHW_VECT_C") return n.lacks("its images are in parts");
    if (n.attrs.data_format === "NCHW") return n.node(op, [x], { blocksize });
    return channelsLast(n, n.node(op, [channelsFirst(n, x)], { blocksize }), 4);
  };
}

export const IMAGES: WriteRules = {
  DepthToSpace: blocks("DepthToSpace"),
  NonMaxSuppressionV3: nonMaxSuppression,
  NonMaxSuppressionV4: nonMaxSuppression,
  NonMaxSuppressionV5: nonMaxSuppression,
  ResizeBilinear: resize(() => ({ mode: "linear" }), true),
  SpaceToDepth: blocks("SpaceToDepth"),
  ResizeNearestNeighbor: resize(({ align_corners, half_pixel_centers }) => ({
    mode: "nearest",
    nearest_mode: align_corners || half_pixel_centers ? "round_prefer_ceil" : "floor",
  }), false),
};
