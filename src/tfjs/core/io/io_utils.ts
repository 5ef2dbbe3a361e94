/** Conversion of weights to bytes and back, and of models between memory and `model.json`. */
import { wantList, wantObject, wrongArgument } from "../../../engine/core/arguments.ts";
import { bytesOfArray } from "../../../library/io/bytes.ts";
import { currentInterpreter } from "../../../engine/core/apply.ts";
import { decodeWeights as decodeArrays } from "../../graph_model/weights.ts";
import { encodeString } from "../../../engine/core/text.ts";
import type { NdArray } from "../../../engine/core/nd_array.ts";
import { Tensor } from "../../../engine/core/tensor.ts";
import { isKeras3, layersTopology, layersWeightNames } from "../../layers/keras_config.ts";
import type { NamedTensor, NamedTensorMap, NumericArray } from "../types.ts";
import { CompositeArrayBuffer } from "./composite_array_buffer.ts";
import type {
  ModelArtifacts,
  ModelArtifactsInfo,
  ModelJSON,
  WeightData,
  WeightGroup,
  WeightsManifestConfig,
  WeightsManifestEntry,
} from "./types.ts";
import { Error } from "../../../engine/core/throwing/builtin_errors.ts";

/** Bytes of an element in files, by stored dtype. */
export const DTYPE_VALUE_SIZE_MAP: { [dtype: string]: number } = {
  float32: 4,
  float16: 2,
  int32: 4,
  uint16: 2,
  uint8: 1,
  bool: 1,
  complex64: 8,
};

/**
 * Writes tensors one after the other, with their specs. Rejects for an element type that files cannot hold.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * const { data, specs } = await tf.io.encodeWeights({ w: tf.tensor1d([1, 2]) });
 * console.log(data.byteLength, specs[0].name); // 8 w
 * ```
 */
export async function encodeWeights(
  tensors: NamedTensorMap | readonly NamedTensor[],
  group?: WeightGroup,
): Promise<{ data: ArrayBuffer; specs: WeightsManifestEntry[] }> {
  wantObject(tensors, "tensors", "encodeWeights", "tensors by name, or a list of them");
  const named = Array.isArray(tensors)
    ? tensors as readonly NamedTensor[]
    : Object.entries(tensors as NamedTensorMap).map(([name, tensor]) => ({ name, tensor }));
  named.forEach((each, i) => {
    wantObject(each, `tensors[${i}]`, "encodeWeights", "a tensor with a name");
    if (!(each.tensor instanceof Tensor)) {
      throw wrongArgument(each.tensor, `tensors[${i}].tensor`, "encodeWeights", "a tensor");
    }
  });
  const specs = named.map(({ name, tensor }) => ({
    name,
    shape: tensor.shape,
    dtype: storedDType(name, tensor),
    ...(group === undefined || group === null ? {} : { group }),
  }));
  const pieces = await Promise.all(
    named.map(async ({ tensor }) => bytesOf(await tensor.ndarray())),
  );
  return { data: CompositeArrayBuffer.join(pieces), specs };
}

function storedDType(name: string, { dtype }: Tensor): WeightsManifestEntry["dtype"] {
  switch (dtype) {
    case "float32":
    case "int32":
    case "bool":
    case "string":
    case "complex64":
      return dtype;
  }
  throw new Error(`Cannot write weight ${name}: files hold no ${dtype}`);
}

/** Encodes an array; each text is its length in 32 bits and its bytes. */
function bytesOf(array: NdArray): Uint8Array<ArrayBuffer> {
  if (array.dtype !== "string") return bytesOfArray(array);
  const texts = array.data as Uint8Array<ArrayBuffer>[];
  return new Uint8Array(CompositeArrayBuffer.join(
    texts.flatMap((text) => [Uint32Array.of(text.length), text]),
  ));
}

/**
 * Decodes the bytes of {@linkcode encodeWeights}, and dequantizes.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * const { data, specs } = await tf.io.encodeWeights({ w: tf.tensor1d([1, 2]) });
 * console.log(tf.io.decodeWeights(data, specs).w.arraySync()); // [1, 2]
 * ```
 */
export function decodeWeights(
  weightData: WeightData,
  specs: readonly WeightsManifestEntry[],
): NamedTensorMap {
  wantList(specs, "specs", "decodeWeights", "the specs of weights");
  const pieces = [weightData].flat().map((piece) => new Uint8Array(piece));
  const out: NamedTensorMap = {};
  for (const [name, array] of decodeArrays(pieces, specs)) {
    out[name] = currentInterpreter().constant(array);
  }
  return out;
}

/** Decodes as {@linkcode decodeWeights}, from a stream. */
export async function decodeWeightsStream(
  weightStream: ReadableStream<ArrayBuffer>,
  specs: readonly WeightsManifestEntry[],
): Promise<NamedTensorMap> {
  if (!(weightStream instanceof ReadableStream)) {
    throw wrongArgument(weightStream, "weightStream", "decodeWeightsStream", "a ReadableStream");
  }
  const pieces: ArrayBuffer[] = [];
  const reader = weightStream.getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    pieces.push(new Uint8Array(next.value).slice().buffer);
  }
  return decodeWeights(pieces, specs);
}

/** Joins the bytes of typed arrays in one buffer. Throws where there is no list. */
export function concatenateTypedArrays(xs: readonly NumericArray[]): ArrayBuffer {
  if (xs === null || xs === undefined) {
    throw new Error(`Cannot concatenate: wanted a list of typed arrays, received ${xs}`);
  }
  const isKnown = (x: unknown) =>
    x instanceof Float32Array || x instanceof Int32Array || x instanceof Uint8Array;
  const wrong = xs.find((x) => !isKnown(x));
  if (wrong !== undefined) {
    throw new Error(`Cannot concatenate arrays: one is a ${(wrong as object).constructor.name}`);
  }
  return CompositeArrayBuffer.join(xs as readonly Uint8Array<ArrayBuffer>[]);
}

/** Number of a text's bytes in UTF-8. */
export function stringByteLength(str: string): number {
  return encodeString(str).length;
}

/** Encodes bytes in base 64. */
export function arrayBufferToBase64String(buffer: ArrayBuffer): string {
  const bytes = new Uint8Array(buffer);
  let text = "";
  for (let i = 0; i < bytes.length; i += 0x8000) {
    text += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  }
  return btoa(text);
}

/** Decodes base 64. */
export function base64StringToArrayBuffer(str: string): ArrayBuffer {
  const text = atob(str);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes.buffer;
}

/**
 * Joins buffers in one.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.io.concatenateArrayBuffers([new ArrayBuffer(2), new ArrayBuffer(3)]).byteLength); // 5
 * ```
 */
export function concatenateArrayBuffers(buffers: ArrayBuffer[] | ArrayBuffer): ArrayBuffer {
  return CompositeArrayBuffer.join(buffers);
}

/** Returns the last part of a path. */
export function basename(path: string): string {
  const parts = path.trim().split("/").filter((part) => part !== "");
  return parts.at(-1) ?? "";
}

/** Optional fields of both forms of a model. */
const SHARED_FIELDS = [
  "signature",
  "userDefinedMetadata",
  "modelInitializer",
  "initializerSignature",
  "trainingConfig",
] as const;

function shared(model: ModelArtifacts | ModelJSON): Partial<ModelArtifacts> {
  const entries = SHARED_FIELDS.map((key) => [key, model[key]] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined && value !== null));
}

/** Makes the `model.json` of a model with a manifest of weights. */
export function getModelJSONForModelArtifacts(
  artifacts: ModelArtifacts,
  manifest: WeightsManifestConfig,
): ModelJSON {
  const { modelTopology, format, generatedBy, convertedBy } = artifacts;
  return {
    modelTopology: modelTopology!,
    ...named({ format, generatedBy, convertedBy }),
    weightsManifest: manifest,
    ...shared(artifacts),
  };
}

/** Types properties as optional. */
function named(fields: {
  format: string | undefined;
  generatedBy: string | undefined;
  convertedBy: string | null | undefined;
}): Pick<ModelArtifacts, "format" | "generatedBy" | "convertedBy"> {
  return fields as Pick<ModelArtifacts, "format" | "generatedBy" | "convertedBy">;
}

/** Makes a model of `model.json` and bytes. Throws for weights without bytes, and for bytes without a description. */
export function getModelArtifactsForJSONSync(
  modelJSON: ModelJSON,
  weightSpecs?: WeightsManifestEntry[],
  weightData?: WeightData,
): ModelArtifacts {
  wantObject(modelJSON, "modelJSON", "getModelArtifactsForJSONSync");
  const { modelTopology, format, generatedBy, convertedBy, weightsManifest } = modelJSON;
  const artifacts: ModelArtifacts = {
    modelTopology,
    ...named({ format, generatedBy, convertedBy }),
    ...shared(modelJSON),
  };
  if (weightsManifest !== undefined && weightsManifest !== null) {
    if (!weightSpecs) {
      throw new Error("Cannot make a model: modelJSON has weightsManifest but weightSpecs is null");
    }
    if (!weightData) {
      throw new Error("Cannot make a model: modelJSON has weightsManifest but weightData is null");
    }
    artifacts.weightSpecs = weightSpecs;
    artifacts.weightData = weightData;
  }
  return layersArtifacts(artifacts);
}

/** Rewrites a model that Keras 3 has configured, so that `tfjs-layers` makes it; returns others as they are. */
export function layersArtifacts(artifacts: ModelArtifacts): ModelArtifacts {
  const { modelTopology: given, weightSpecs } = artifacts;
  if (!isKeras3(given)) return artifacts;
  const names = layersWeightNames(given, (weightSpecs ?? []).map(({ name }) => name));
  return {
    ...artifacts,
    modelTopology: layersTopology(given!),
    ...(weightSpecs
      ? { weightSpecs: weightSpecs.map((spec, i) => ({ ...spec, name: names[i] })) }
      : {}),
  };
}

/** Makes a model of `model.json` and the bytes of `loadWeights`. */
export async function getModelArtifactsForJSON(
  modelJSON: ModelJSON,
  loadWeights: (
    weightsManifest: WeightsManifestConfig,
  ) => Promise<[WeightsManifestEntry[], WeightData]>,
): Promise<ModelArtifacts> {
  wantObject(modelJSON, "modelJSON", "getModelArtifactsForJSON");
  const { weightsManifest } = modelJSON;
  if (!weightsManifest) return getModelArtifactsForJSONSync(modelJSON);
  const [weightSpecs, weightData] = await loadWeights(weightsManifest);
  return getModelArtifactsForJSONSync(modelJSON, weightSpecs, weightData);
}

/** Computes the sizes of a model. Throws for a topology in bytes. */
export function getModelArtifactsInfoForJSON(modelArtifacts: ModelArtifacts): ModelArtifactsInfo {
  wantObject(modelArtifacts, "modelArtifacts", "getModelArtifactsInfoForJSON");
  const { modelTopology, weightSpecs, weightData } = modelArtifacts;
  if (modelTopology instanceof ArrayBuffer) {
    throw new Error(
      "Cannot describe the model: wanted a topology in JSON, received an ArrayBuffer",
    );
  }
  const bytes = (value: unknown) =>
    value === undefined || value === null ? 0 : stringByteLength(JSON.stringify(value));
  return {
    dateSaved: new Date(),
    modelTopologyType: "JSON",
    modelTopologyBytes: bytes(modelTopology),
    weightSpecsBytes: bytes(weightSpecs),
    weightDataBytes: weightData ? new CompositeArrayBuffer(weightData).byteLength : 0,
  };
}

/** Lists all weights of a manifest. */
export function getWeightSpecs(weightsManifest: WeightsManifestConfig): WeightsManifestEntry[] {
  wantList(weightsManifest, "weightsManifest", "getWeightSpecs", "groups of weights");
  return weightsManifest.flatMap((group) => {
    wantObject(group, "weightsManifest[]", "getWeightSpecs", "a group of weights");
    return group.weights;
  });
}

/** Makes a decoder of half-precision numbers, given by their bits. */
export function getFloat16Decoder(): (buffer: Uint16Array) => Float32Array {
  return (buffer) => {
    const half: WeightsManifestEntry = {
      name: "half",
      shape: [buffer.length],
      dtype: "float32",
      quantization: { dtype: "float16" },
    };
    const bytes = new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);
    return decodeArrays([bytes], [half]).get("half")!.data as Float32Array;
  };
}
