/** Handlers of models in memory, and of users' save functions. */
import { wantObject } from "../../../engine/core/arguments.ts";
import { layersArtifacts } from "./io_utils.ts";
import type {
  IOHandler,
  IOHandlerSync,
  ModelArtifacts,
  SaveResult,
  TrainingConfig,
  WeightData,
  WeightsManifestEntry,
} from "./types.ts";

/** Makes a handler that loads this model, given whole or by its topology, specs, weights and training configuration. */
export function fromMemory(
  modelArtifacts: ModelArtifacts | object,
  weightSpecs?: WeightsManifestEntry[],
  weightData?: WeightData,
  trainingConfig?: TrainingConfig,
): IOHandler {
  const { load } = fromMemorySync(modelArtifacts, weightSpecs, weightData, trainingConfig);
  return { load: () => Promise.resolve(load!()) };
}

/** Makes the synchronous handler of {@linkcode fromMemory}. */
export function fromMemorySync(
  modelArtifacts: ModelArtifacts | object,
  weightSpecs?: WeightsManifestEntry[],
  weightData?: WeightData,
  trainingConfig?: TrainingConfig,
): IOHandlerSync {
  wantObject(modelArtifacts, "modelArtifacts", "fromMemory");
  const isWhole = weightSpecs === undefined && weightData === undefined &&
    trainingConfig === undefined;
  const given = modelArtifacts as ModelArtifacts;
  if (isWhole && (given.modelTopology !== undefined || given.weightSpecs !== undefined)) {
    return { load: () => layersArtifacts(given) };
  }
  const parts = { modelTopology: modelArtifacts, weightSpecs, weightData, trainingConfig };
  const known = Object.entries(parts).filter(([, value]) => value !== undefined);
  return { load: () => layersArtifacts(Object.fromEntries(known) as ModelArtifacts) };
}

/** Makes a handler that saves by a function. */
export function withSaveHandler(
  saveHandler: (artifacts: ModelArtifacts) => Promise<SaveResult>,
): IOHandler {
  return { save: (artifacts) => saveHandler(artifacts) };
}

/** Makes a handler that saves synchronously by a function. */
export function withSaveHandlerSync(
  saveHandler: (artifacts: ModelArtifacts) => SaveResult,
): IOHandlerSync {
  return { save: (artifacts) => saveHandler(artifacts) };
}
