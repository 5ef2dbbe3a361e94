/**
 * Models as files hold them: what handlers save and load.
 */

/** A weight of a manifest. */
export interface WeightsManifestEntry {
  /** Its name, unique in the manifest. */
  name: string;
  /** Its dimensions. */
  shape: number[];
  /** Its element type once loaded. */
  dtype: "float32" | "int32" | "bool" | "string" | "complex64";
  /** Whose weight it is. */
  group?: WeightGroup;
  /** How it was made smaller, where it was. */
  quantization?: {
    /** Step between neighbouring values. */
    scale?: number;
    /** Value of 0. */
    min?: number;
    /** What is stored. */
    dtype: "uint16" | "uint8" | "float16";
  };
}
/** Weights and the files that hold them, in that order. */
export interface WeightsManifestGroupConfig {
  /** Files, relative to the manifest's. */
  paths: string[];
  /** Weights in the files, one after the other. */
  weights: WeightsManifestEntry[];
}
/** All groups of weights. */
export type WeightsManifestConfig = WeightsManifestGroupConfig[];
/** Whose weights these are. */
export type WeightGroup = "model" | "optimizer";
/** Bytes of weights, in one piece or several. */
export type WeightData = ArrayBuffer | ArrayBuffer[];

/** What is saved of a model. */
export interface SaveConfig {
  /** True: weights that are not trained stay away. */
  trainableOnly?: boolean;
  /** True: the optimizer's state is saved too. */
  includeOptimizer?: boolean;
}
/** What saving came to. */
export interface SaveResult {
  /** What was saved. */
  modelArtifactsInfo: ModelArtifactsInfo;
  /** Answers of a server. */
  responses?: Response[];
  /** What went wrong. */
  errors?: Array<object | string>;
}
/** Sizes and age of a saved model. */
export interface ModelArtifactsInfo {
  /** When it was saved. */
  dateSaved: Date;
  /** Kind of topology. */
  modelTopologyType: "JSON" | "GraphDef";
  /** Bytes of the topology. */
  modelTopologyBytes?: number;
  /** Bytes of the weights' names and shapes. */
  weightSpecsBytes?: number;
  /** Bytes of the weights. */
  weightDataBytes?: number;
}
/** How a model was trained. */
export interface TrainingConfig {
  /** Settings of the optimizer. */
  optimizer_config: object;
  /** Losses, for one or more outputs. */
  loss: string | string[] | { [key: string]: string };
  /** Metrics. */
  metrics?: string[] | { [key: string]: string };
  /** Metrics that count samples by weight. */
  weighted_metrics?: string[];
  /** How samples are weighted. */
  sample_weight_mode?: string;
  /** Weights of the losses. */
  loss_weights?: number[] | { [key: string]: number };
}
/** What both forms of a model have in common. */
interface ModelFields {
  /** How it was trained. */
  trainingConfig?: TrainingConfig;
  /** Name of the format. */
  format?: string;
  /** What wrote the model. */
  generatedBy?: string;
  /** What converted it. */
  convertedBy?: string | null;
  /** Inputs and outputs. */
  signature?: object;
  /** What the user wrote beside it. */
  userDefinedMetadata?: { [key: string]: object };
  /** A graph that is run before the first call. */
  modelInitializer?: object;
  /** Inputs and outputs of that graph. */
  initializerSignature?: object;
}
/** A model in memory. */
export interface ModelArtifacts extends ModelFields {
  /** Layers or a graph. */
  modelTopology?: object | ArrayBuffer;
  /** What the bytes hold. */
  weightSpecs?: WeightsManifestEntry[];
  /** The bytes of the weights. */
  weightData?: WeightData;
  /** Gives the bytes as they come. */
  getWeightStream?: () => ReadableStream<ArrayBuffer>;
}
/** A model as `model.json` holds it. */
export interface ModelJSON extends ModelFields {
  /** Layers or a graph. */
  modelTopology: object;
  /** Where the weights are. */
  weightsManifest: WeightsManifestConfig;
}
/** Loads a model. */
export type LoadHandler = () => Promise<ModelArtifacts>;
/** Saves a model. */
export type SaveHandler = (modelArtifact: ModelArtifacts) => Promise<SaveResult>;
/** Saves or loads models somewhere. */
export interface IOHandler {
  /** Saves one. */
  save?: SaveHandler;
  /** Loads it. */
  load?: LoadHandler;
}
/** Saves or loads models at once. */
export interface IOHandlerSync {
  /** Saves one. */
  save?: (modelArtifact: ModelArtifacts) => SaveResult;
  /** Loads it. */
  load?: () => ModelArtifacts;
}
/** A place that holds models by name. */
export interface ModelStoreManager {
  /** The models there. */
  listModels(): Promise<{ [path: string]: ModelArtifactsInfo }>;
  /** Deletes one. */
  removeModel(path: string): Promise<ModelArtifactsInfo>;
}
/** Told how much has come, from 0 to 1. */
export type OnProgressCallback = (fraction: number) => void;
/** Options of loading. */
export interface LoadOptions {
  /** Options of each request. */
  requestInit?: RequestInit;
  /** Told of progress. */
  onProgress?: OnProgressCallback;
  /** Fetches in place of `fetch`. */
  fetchFunc?: typeof fetch;
  /** True: each weight must be there. */
  strict?: boolean;
  /** Where weights are, in place of beside `model.json`. */
  weightPathPrefix?: string;
  /** True: the model is on TensorFlow Hub. */
  fromTFHub?: boolean;
  /** Gives the URL of a file of weights. */
  weightUrlConverter?: (weightFileName: string) => Promise<string>;
  /** True: weights are taken as they come. */
  streamWeights?: boolean;
}
/** What a request is for. */
export interface RequestDetails {
  /** True: bytes, not text. */
  isBinary?: boolean;
}
