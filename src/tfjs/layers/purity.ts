/**
 * Purity of models of `@tensorflow/tfjs-layers`: a model may be compiled where it consists of the package's own classes
 * and functions, whose calls depend on fields that can be watched. A program's own classes declare it by a static
 * `isPure`.
 */
import * as losses from "../../engine/ops/rows/losses.ts";
import * as optimizers from "../../library/train/optimizers.ts";

/** A registered class, or an object of one. */
interface Known {
  readonly isPure?: boolean;
}

/** The used part of a layer, an activation, a regularizer. */
export interface Part {
  readonly name?: string;
  readonly stateful?: boolean;
  getClassName(): string;
}

/** The used part of a `LayersModel`. */
export interface LayersModel extends Part {
  readonly inputs: readonly unknown[];
  readonly outputs: readonly unknown[];
  readonly layers: readonly Part[];
  readonly loss?: unknown;
  readonly metrics?: unknown;
  readonly optimizer_?: unknown;
}

/** Classes of the package that compute from their inputs, weights and fields alone. */
const PURE = new Set(
  `Model Functional Sequential InputLayer elu selu relu relu6 linear sigmoid hardSigmoid softplus softsign tanh softmax logSoftmax
  gelu gelu_new mish swish L1L2 ReLU LeakyReLU PReLU ELU ThresholdedReLU Softmax Conv1D Conv2D Conv3D Conv2DTranspose Conv3DTranspose
  SeparableConv2D DepthwiseConv2D Cropping2D UpSampling2D RNN SimpleRNNCell SimpleRNN GRUCell GRU LSTMCell LSTM StackedRNNCells
  ConvLSTM2DCell ConvLSTM2D Dropout SpatialDropout1D Dense Flatten Activation RepeatVector Reshape Permute Masking Embedding Add Multiply
  Average Maximum Minimum Concatenate Dot GaussianNoise GaussianDropout AlphaDropout BatchNormalization LayerNormalization ZeroPadding2D
  MaxPooling1D AveragePooling1D MaxPooling2D AveragePooling2D MaxPooling3D AveragePooling3D GlobalAveragePooling1D GlobalMaxPooling1D
  GlobalAveragePooling2D GlobalMaxPooling2D TimeDistributed Bidirectional Rescaling CenterCrop Resizing`
    .split(/\s+/),
);
/** The classes that registered these names first: the package's own. */
const own = new Map<string, unknown>();

/** Records a registered class. */
export function noteClass(cls: { readonly className: string }): void {
  if (PURE.has(cls.className) && !own.has(cls.className)) own.set(cls.className, cls);
}

const OPTIMIZERS: ReadonlySet<unknown> = new Set(Object.values(optimizers));
const LOSSES: ReadonlySet<unknown> = new Set(Object.values(losses));

/** Fields with masks of dropped values, which each call makes anew. */
const MASKS = /^(recurrentD|d)ropoutMask$/;
/** Fields that no call reads: they serve the building of a layer. */
const NOT_CALLED = /(Initializer|Constraint)$/;
/** Fields of a model that a step reads besides its layers. */
const OF_MODELS = [
  "layers",
  "inputs",
  "outputs",
  "lossFunctions",
  "metricsTensors",
  "optimizer_",
  "collectedTrainableWeights",
];

/** Methods of an optimizer that a step calls. */
const OF_OPTIMIZERS = ["minimize", "computeGradients", "applyGradients"];

/** A field that calls depend on, with its value at the time of the trace. */
export interface Watched {
  readonly holder: object;
  readonly key: string;
  readonly value: unknown;
}

/** True where all fields are unchanged. */
export function areSame(fields: readonly Watched[]): boolean {
  for (const { holder, key, value } of fields) {
    if (!Object.is((holder as Record<string, unknown>)[key], value)) return false;
  }
  return true;
}

/** Dependencies of a model's calls. */
export interface Purity {
  /** The fields to watch. */
  readonly fields: readonly Watched[];
  /** Layers with masks, which belong to the call that made them. */
  readonly masked: readonly Part[];
  /** Why it must run op by op; null where it may be compiled. */
  readonly reason: string | null;
}

const isPart = (value: unknown): value is Part =>
  typeof (value as Part | null)?.getClassName === "function";

/** Examines all parts that a model's calls run. */
export function purityOf(model: LayersModel): Purity {
  const fields: Watched[] = [], masked: Part[] = [], seen = new Set<Part>();
  let reason: string | null = null;
  const refuse = (text: string): void => void (reason ??= text);
  const watch = (holder: object, key: string, value: unknown): void =>
    void fields.push({ holder, key, value });
  const visit = (part: Part): void => {
    if (seen.has(part)) return;
    seen.add(part);
    const name = part.getClassName(), cls = part.constructor as Known;
    const called = `${part.name === undefined ? "" : `layer '${part.name}' of `}class ${name}`;
    if (own.get(name) !== cls && cls.isPure !== true) refuse(`${called} is not the package's own`);
    if (isModel(part)) return visitModel(part);
    if (part.stateful === true) refuse(`${called} is stateful`);
    for (const [key, value] of Object.entries(part)) {
      if (NOT_CALLED.test(key)) continue;
      if (MASKS.test(key)) masked.push(part);
      else {
        watch(part, key, value);
        // The layer of softmax keeps the function of its activation.
        if (typeof value === "function" && key !== "softmax") {
          refuse(`${called} has its own ${key}`);
        }
        for (const inner of [value].flat()) if (isPart(inner)) visit(inner);
      }
    }
  };
  const visitModel = (container: LayersModel): void => {
    const all = container as unknown as Record<string, unknown>;
    for (const key of [...OF_MODELS, "model"]) if (key in all) watch(container, key, all[key]);
    if (isPart(all.model)) visit(all.model);
    container.layers.forEach(visit);
  };
  visit(model);
  for (const fn of [...leaves(model.loss), ...leaves(model.metrics)]) {
    if (typeof fn === "string" || LOSSES.has(fn) || (fn as Known | null)?.isPure === true) continue;
    refuse(`the loss or metric '${(fn as { name?: string }).name}' is the program's own`);
  }
  const optimizer = model.optimizer_ as Record<string, unknown> | undefined;
  if (optimizer) {
    if (!OPTIMIZERS.has(optimizer.constructor)) refuse("the optimizer is the program's own");
    // Some programs clip gradients in an `applyGradients` of their own.
    for (const key of [...Object.keys(optimizer), ...OF_OPTIMIZERS]) {
      const value = optimizer[key];
      watch(optimizer, key, value);
      if (typeof value === "function" && Object.hasOwn(optimizer, key)) {
        refuse(`the optimizer has its own ${key}`);
      }
    }
  }
  return { fields, masked, reason };
}

const isModel = (part: Part): part is LayersModel => Array.isArray((part as LayersModel).layers);

/** Lists the names and functions of losses and metrics. */
function leaves(given: unknown): unknown[] {
  if (given === null || given === undefined) return [];
  if (typeof given !== "object") return [given];
  return Object.values(given).flatMap(leaves);
}

/** Clears masks that a trace has left. */
export function forgetMasks({ masked }: Purity): void {
  for (const part of masked as unknown as Record<string, unknown>[]) {
    for (const key of Object.keys(part)) if (MASKS.test(key)) part[key] = null;
  }
}
