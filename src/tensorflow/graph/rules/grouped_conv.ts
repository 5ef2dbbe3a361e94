/** Grouped convolutions: TensorFlow's Conv2D has a group for each multiple of the filter's channels in the image's. */
import type { Attrs } from "../../../engine/core/op.ts";
import type { Tensor } from "../../../engine/core/tensor.ts";
import type { AttrValueJson } from "../../../engine/graph/graph_def_json.ts";
import { concat, split } from "../../../engine/ops/array/join.ts";
import { reshape } from "../../../engine/ops/array/view.ts";
import { type ImportedNode, put1, textOf } from "../rule.ts";

/** Returns the number of groups, 1 if extents are unknown. */
export function groupsOf({ inputs: [x, filter], attr }: ImportedNode): number {
  const channels = x?.staticShape?.[channelAxis(attr)], depth = filter?.staticShape?.[2];
  return channels && depth ? channels / depth : 1;
}

function channelAxis(attr: ImportedNode["attr"]): number {
  return textOf(attr.data_format, "NHWC") === "NCHW" ? 1 : 3;
}

/** Builds a grouped Conv2D: depthwise if each channel is a group, else one convolution per group. */
export function groupedConv(node: ImportedNode): Tensor[] {
  const { inputs: [x, filter], attr } = node;
  const groups = groupsOf(node), attrs = convAttrs(attr);
  const [height, width, depth] = (filter.staticShape ?? []).map((d) => d ?? -1);
  if (depth === 1) {
    const rearranged = reshape(filter, [height, width, groups, -1]);
    return [put1("DepthwiseConv2dNative", [x, rearranged], attrs)];
  }
  const axis = channelAxis(attr);
  const filters = split(filter, groups, 3);
  const parts = split(x, groups, axis).map((part, i) => put1("Conv2D", [part, filters[i]], attrs));
  return [concat(parts, axis)];
}

function convAttrs(attr: ImportedNode["attr"]): Attrs {
  const ints = (v: AttrValueJson | undefined) => v?.list?.i?.map(Number);
  const strides = ints(attr.strides), dilations = ints(attr.dilations);
  const explicit = ints(attr.explicit_paddings);
  return {
    padding: textOf(attr.padding, ""),
    data_format: textOf(attr.data_format, "NHWC"),
    ...(strides && { strides }),
    ...(dilations?.length && { dilations }),
    ...(explicit?.length && { explicit_paddings: explicit }),
  };
}
