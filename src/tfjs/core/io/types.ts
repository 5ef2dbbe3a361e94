/** Models as handlers save and load them. */

/** A weight of a manifest. */
export interface WeightsManifestEntry {
  /** Name, unique in the manifest. */
  name: string;
  /** Its dimensions. */
  shape: number[];
  /** Element type once loaded. */
  dtype: "float32" | "int32" | "bool" | "string" | "complex64";
  /** The owner of the weight. */
  group?: WeightGroup;
  /** Quantization, if any. */
  quantization?: {
    /** Step between neighbouring values. */
    scale?: number;
    /** Value of 0. */
    min?: number;
    /** The stored type. */
    dtype: "uint16" | "uint8" | "float16";
  };
}
/** Weights and their files. */
export interface WeightsManifestGroupConfig {
  /** Files, relative to the manifest's. */
  paths: string[];
  /** Weights in the files, one after the other. */
  weights: WeightsManifestEntry[];
}
/** All groups of weights. */
export type WeightsManifestConfig = WeightsManifestGroupConfig[];
/** The owner of weights. */
export type WeightGroup = "model" | "optimizer";
/** Bytes of weights, in one piece or several. */
export type WeightData = ArrayBuffer | ArrayBuffer[];

/** Options of saving. */
export interface SaveConfig {
  /** True: leaves out weights that are not trained. */
  trainableOnly?: boolean;
  /** True: the optimizer's state is saved too. */
  includeOptimizer?: boolean;
}
/** The result of saving. */
export interface SaveResult {
  /** Sizes of the saved model. */
  modelArtifactsInfo: ModelArtifactsInfo;
  /** Answers of a server. */
  responses?: Response[];
  /** Errors, if any. */
  errors?: Array<object | string>;
}
/** Sizes and age of a saved model. */
export interface ModelArtifactsInfo {
  /** Time of saving. */
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
/** Configuration of a training. */
export interface TrainingConfig {
  /** Settings of the optimizer. */
  optimizer_config: object;
  /** Losses, for one or more outputs. */
  loss: string | string[] | { [key: string]: string };
  /** Metrics. */
  metrics?: string[] | { [key: string]: string };
  /** Metrics that count samples by weight. */
  weighted_metrics?: string[];
  /** Mode of the weights of samples. */
  sample_weight_mode?: string;
  /** Weights of the losses. */
  loss_weights?: number[] | { [key: string]: number };
}
/** Fields of both forms of a model. */
interface ModelFields {
  /** Configuration of its training. */
  trainingConfig?: TrainingConfig;
  format?: string;
  /** The program that wrote the model. */
  generatedBy?: string;
  /** The program that converted it. */
  convertedBy?: string | null;
  /** Inputs and outputs. */
  signature?: object;
  /** The user's own data. */
  userDefinedMetadata?: { [key: string]: object };
  /** A graph that runs before the first call. */
  modelInitializer?: object;
  /** Inputs and outputs of that graph. */
  initializerSignature?: object;
}
/** A model in memory. */
export interface ModelArtifacts extends ModelFields {
  /** Layers or a graph. */
  modelTopology?: object | ArrayBuffer;
  /** Specs of the weights. */
  weightSpecs?: WeightsManifestEntry[];
  /** The bytes of the weights. */
  weightData?: WeightData;
  /** Streams the bytes of the weights. */
  getWeightStream?: () => ReadableStream<ArrayBuffer>;
}
/** A model as `model.json` holds it. */
export interface ModelJSON extends ModelFields {
  /** Layers or a graph. */
  modelTopology: object;
  /** Weights and their files. */
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
/** A handler that saves or loads models synchronously. */
export interface IOHandlerSync {
  /** Saves one. */
  save?: (modelArtifact: ModelArtifacts) => SaveResult;
  /** Loads it. */
  load?: () => ModelArtifacts;
}
/** A store of models by name. */
export interface ModelStoreManager {
  /** Lists the models. */
  listModels(): Promise<{ [path: string]: ModelArtifactsInfo }>;
  /** Deletes a model. */
  removeModel(path: string): Promise<ModelArtifactsInfo>;
}
/** Called with the loaded part, from 0 to 1. */
export type OnProgressCallback = (fraction: number) => void;
/** Options of loading. */
export interface LoadOptions {
  /** Options of each request. */
  requestInit?: RequestInit;
  /** Called with the progress. */
  onProgress?: OnProgressCallback;
  /** Replaces `fetch`. */
  fetchFunc?: typeof fetch;
  /** True: fails for a missing weight. */
  strict?: boolean;
  /** Prefix of the files of weights. Default: the folder of `model.json`. */
  weightPathPrefix?: string;
  /** True: the model is on TensorFlow Hub. */
  fromTFHub?: boolean;
  /** Returns the URL of a file of weights. */
  weightUrlConverter?: (weightFileName: string) => Promise<string>;
  /** True: weights are read as a stream. */
  streamWeights?: boolean;
}
/** Details of a request. */
export interface RequestDetails {
  /** True: bytes, not text. */
  isBinary?: boolean;
}
