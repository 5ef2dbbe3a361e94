/** Loading of the weights of a manifest, from files that each hold some of them. */
import { wantList, wantObject, wantString } from "../../../engine/core/arguments.ts";
import { env } from "../environment.ts";
import { assert } from "../util/checks.ts";
import type { NamedTensorMap } from "../types.ts";
import { decodeWeights } from "./io_utils.ts";
import { monitorPromisesProgress } from "./progress.ts";
import type { LoadOptions, WeightsManifestConfig, WeightsManifestEntry } from "./types.ts";
import { Error } from "../../../engine/core/throwing/builtin_errors.ts";

/** Fetches files of weights; the answers are half of the progress, their bytes the other half. */
export async function loadWeightsAsArrayBuffer(
  fetchURLs: readonly string[],
  { fetchFunc, requestInit, onProgress = () => {} }: LoadOptions = {},
): Promise<ArrayBuffer[]> {
  if (fetchURLs.length === 0) return [];
  const responses = await monitorPromisesProgress(
    fetchURLs.map((url) => fetchBytes(url, fetchFunc, requestInit)),
    onProgress,
    0,
    0.5,
  );
  const bodies = responses.map((response) => response.arrayBuffer());
  return await monitorPromisesProgress(bodies, onProgress, 0.5, 1);
}

function fetchBytes(
  url: string,
  fetchFunc: LoadOptions["fetchFunc"],
  requestInit: RequestInit | undefined,
): Promise<Response> {
  return fetchFunc === undefined
    ? env().platform.fetch(url, requestInit, { isBinary: true })
    : fetchFunc(url, requestInit);
}

/** Streams the bytes of files, each fetched when the one before has ended. */
export function streamWeights(
  fetchURLs: readonly string[],
  { fetchFunc, requestInit, onProgress }: LoadOptions = {},
): ReadableStream<ArrayBuffer> {
  let next = 0;
  let reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>> | undefined;
  onProgress?.(0);
  return new ReadableStream<ArrayBuffer>({
    async pull(controller) {
      for (;;) {
        if (reader === undefined) {
          if (next === fetchURLs.length) return controller.close();
          const { body } = await fetchBytes(fetchURLs[next], fetchFunc, requestInit);
          if (body === null) throw new Error(`Cannot read ${fetchURLs[next]}: the answer is empty`);
          reader = body.getReader();
        }
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value.slice().buffer);
        reader = undefined;
        next++;
        onProgress?.(next / fetchURLs.length);
      }
    },
  });
}

/** Loads the weights of a manifest, all or those named. */
export function loadWeights(
  manifest: WeightsManifestConfig,
  filePathPrefix = "",
  weightNames?: readonly string[],
  requestInit?: RequestInit,
): Promise<NamedTensorMap> {
  const options = requestInit === undefined ? {} : { requestInit };
  const load = weightsLoaderFactory((urls) => loadWeightsAsArrayBuffer(urls, options));
  return load(manifest, filePathPrefix, weightNames);
}

/** Makes a loader of weights from a function that fetches files. */
export function weightsLoaderFactory(
  fetchWeightsFunction: (fetchUrls: string[]) => Promise<ArrayBuffer[]>,
): (
  manifest: WeightsManifestConfig,
  filePathPrefix?: string,
  weightNames?: readonly string[],
) => Promise<NamedTensorMap> {
  return async (manifest, filePathPrefix = "", weightNames) => {
    wantList(manifest, "manifest", "loadWeights", "groups of weights");
    for (const group of manifest) {
      wantObject(group, "manifest[]", "loadWeights", "a group of weights");
      wantList(group.weights, "manifest[].weights", "loadWeights", "the specs of weights");
    }
    wantString(filePathPrefix, "filePathPrefix", "loadWeights");
    const isWanted = ({ name }: WeightsManifestEntry) => weightNames?.includes(name) ?? true;
    const known = new Set(manifest.flatMap(({ weights }) => weights.map(({ name }) => name)));
    const missing = (weightNames ?? []).filter((name) => !known.has(name));
    assert(
      missing.length === 0,
      () => `Cannot load weights ${missing.join(", ")}: the manifest has ${[...known].join(", ")}`,
    );
    // Files without wanted weights are not fetched.
    const groups = manifest.filter(({ weights }) => weights.some(isWanted));
    const prefix = filePathPrefix === "" || filePathPrefix.endsWith("/")
      ? filePathPrefix
      : `${filePathPrefix}/`;
    const urls = groups.flatMap(({ paths }) => paths.map((path) => prefix + path));
    const buffers = await fetchWeightsFunction(urls);
    const out: NamedTensorMap = {};
    for (const { paths, weights } of groups) {
      const tensors = decodeWeights(buffers.splice(0, paths.length), weights);
      for (const spec of weights) {
        if (isWanted(spec)) out[spec.name] = tensors[spec.name];
        else tensors[spec.name].dispose();
      }
    }
    return out;
  };
}
