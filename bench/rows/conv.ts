// Convolutions and pools at the shapes of ResNet-50 and MobileNet v2. Weft and TensorFlow.js take [batch, height,
// width, channels]; jax-js and onnxruntime-web take channels first, so their inputs are turned before the clock starts.

import { type Conv, samePadding, type Window } from "../conv_shape.ts";
import { permute, type Shape4 } from "../layout.ts";
import { opRow, type Values } from "../op_row.ts";
import { sizeOf, spread } from "../random.ts";
import type { Row, Sample } from "../row.ts";

/** A convolution of several images. */
interface BatchConv extends Conv {
  readonly batch: number;
}

/** Calls `visit` for each input position a window at the given output position covers, with the offset inside it. */
function overWindow(
  { size, kernel, stride }: Window,
  [row, column]: readonly [number, number],
  before: number,
  visit: (input: number, offset: number) => void,
): void {
  for (let i = 0; i < kernel; i++) {
    for (let j = 0; j < kernel; j++) {
      const y = row * stride + i - before;
      const x = column * stride + j - before;
      if (y >= 0 && y < size && x >= 0 && x < size) visit(y * size + x, i * kernel + j);
    }
  }
}

function convSamples(conv: BatchConv, [input, filter]: Values): Sample[] {
  const { batch, size, from, to, stride, depthwise } = conv;
  const outputSize = Math.ceil(size / stride);
  const { before } = samePadding(conv);
  return spread(batch * outputSize * outputSize * to, 32).map((index) => {
    const channel = index % to;
    const position = Math.floor(index / to);
    const [column, row] = [position % outputSize, Math.floor(position / outputSize) % outputSize];
    const image = Math.floor(position / outputSize ** 2) * size * size;
    let value = 0;
    overWindow(conv, [row, column], before, (at, offset) => {
      const pixel = (image + at) * from;
      if (depthwise) {
        value += input![pixel + channel]! * filter![offset * from + channel]!;
        return;
      }
      for (let c = 0; c < from; c++) {
        value += input![pixel + c]! * filter![(offset * from + c) * to + channel]!;
      }
    });
    return { index, value };
  });
}

function convRow(id: string, what: string, conv: BatchConv): Row {
  const { batch, size, from, to, kernel, stride, depthwise } = conv;
  const outputSize = Math.ceil(size / stride);
  const inputShape: Shape4 = [batch, size, size, from];
  const filterShape: Shape4 = depthwise ? [kernel, kernel, from, 1] : [kernel, kernel, from, to];
  const { before, after } = samePadding(conv);
  return opRow({
    id,
    what: `${what}: ${kernel}×${kernel}/${stride}, ${size}²×${from}${depthwise ? "" : `→${to}`}`,
    flop: 2 * batch * outputSize ** 2 * to * kernel ** 2 * (depthwise ? 1 : from),
    inputs: [inputShape, filterShape],
    tf(tf, x, w) {
      type Image = Parameters<typeof tf.conv2d>[0];
      type Filter = Parameters<typeof tf.conv2d>[1];
      return depthwise
        ? tf.depthwiseConv2d(x as Image, w as Filter, stride, "same")
        : tf.conv2d(x as Image, w as Filter, stride, "same");
    },
    jax({ lax }, x, w) {
      return lax.convGeneralDilated(
        x!,
        w!,
        [stride, stride],
        [[before, after], [before, after]],
        depthwise ? { featureGroupCount: from } : {},
      );
    },
    onnx: (graph, x, w) =>
      graph.op("Conv", [x!, w!], {
        strides: [stride, stride],
        pads: [before, before, after, after],
        group: depthwise ? from : 1,
      }),
    weights: [1],
    channelsFirst: {
      inputs: ([x, w]) => [
        { values: permute(x!, inputShape, [0, 3, 1, 2]), shape: [batch, from, size, size] },
        depthwise
          ? { values: permute(w!, filterShape, [2, 3, 0, 1]), shape: [from, 1, kernel, kernel] }
          : { values: permute(w!, filterShape, [3, 2, 0, 1]), shape: [to, from, kernel, kernel] },
      ],
      result: (result) => permute(result, [batch, to, outputSize, outputSize], [0, 2, 3, 1]),
    },
    expected: (values) => convSamples(conv, values),
  });
}

/** A pool whose windows tile the image, by reduction of a window. */
function poolRow(
  id: string,
  what: string,
  { batch, size, channels, window, max }: {
    batch: number;
    size: number;
    channels: number;
    window: number;
    max: boolean;
  },
): Row {
  const outputSize = size / window;
  const shape: Shape4 = [batch, size, size, channels];
  const shape_ = { size, kernel: window, stride: window };
  return opRow({
    id,
    what,
    bytes: 4 * sizeOf(shape),
    inputs: [shape],
    tf(tf, x) {
      type Image = Parameters<typeof tf.maxPool>[0];
      return max
        ? tf.maxPool(x as Image, window, window, "valid")
        : tf.avgPool(x as Image, window, window, "valid");
    },
    jax({ numpy }, x) {
      const tiles = x!.reshape([batch, channels, outputSize, window, outputSize, window]);
      return max ? numpy.max(tiles, [3, 5]) : numpy.mean(tiles, [3, 5]);
    },
    onnx(graph, x) {
      if (outputSize === 1 && !max) return graph.op("GlobalAveragePool", [x!]);
      const windows = { kernel_shape: [window, window], strides: [window, window] };
      return graph.op(max ? "MaxPool" : "AveragePool", [x!], windows);
    },
    channelsFirst: {
      inputs: ([x]) => [
        { values: permute(x!, shape, [0, 3, 1, 2]), shape: [batch, channels, size, size] },
      ],
      result: (result) => permute(result, [batch, channels, outputSize, outputSize], [0, 2, 3, 1]),
    },
    expected: ([x]) =>
      spread(batch * outputSize ** 2 * channels).map((index) => {
        const position = Math.floor(index / channels);
        const image = Math.floor(position / outputSize ** 2) * size * size;
        const row = Math.floor(position / outputSize) % outputSize;
        const values: number[] = [];
        overWindow(shape_, [row, position % outputSize], 0, (at) => {
          values.push(x![(image + at) * channels + index % channels]!);
        });
        const sum = values.reduce((total, value) => total + value, 0);
        return { index, value: max ? Math.max(...values) : sum / values.length };
      }),
  });
}

function conv(size: number, from: number, to: number, kernel: number, stride = 1): BatchConv {
  return { batch: 1, size, from, to, kernel, stride, depthwise: false };
}

function depthwise(size: number, channels: number, stride = 1): BatchConv {
  return { batch: 1, size, from: channels, to: channels, kernel: 3, stride, depthwise: true };
}

/** Rows of this file. */
export const CONV_ROWS: readonly Row[] = [
  convRow("rn50_stem", "ResNet-50 stem", conv(224, 3, 64, 7, 2)),
  convRow("rn50_3x3_56", "ResNet-50", conv(56, 64, 64, 3)),
  convRow("rn50_3x3_14", "ResNet-50", conv(14, 256, 256, 3)),
  convRow("rn50_1x1_56", "ResNet-50", conv(56, 64, 256, 1)),
  convRow("rn50_1x1_7", "ResNet-50", conv(7, 2048, 512, 1)),
  convRow("mbv2_dw_56", "MobileNet depthwise", depthwise(56, 144)),
  convRow("mbv2_dw_112", "MobileNet depthwise", depthwise(112, 32)),
  poolRow("max_pool", "max pool 2×2, [64, 28, 28, 32]", {
    batch: 64,
    size: 28,
    channels: 32,
    window: 2,
    max: true,
  }),
  poolRow("global_avg_pool", "global average pool, [1, 7, 7, 2048]", {
    batch: 1,
    size: 7,
    channels: 2048,
    window: 7,
    max: false,
  }),
];
