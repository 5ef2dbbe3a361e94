/** The namespace `tf.quantization`. */
export {
  type FakeQuantArgs,
  type FakeQuantLevels,
  type FakeQuantVars,
  fakeQuantWithMinMaxArgs,
  fakeQuantWithMinMaxVars,
  fakeQuantWithMinMaxVarsPerChannel,
} from "./fake_quant.ts";
export { dequantize, quantize, type QuantizeOptions } from "./quantize.ts";
