/** Models on servers: `http://…/model.json`. */
import { wantString } from "../../../engine/core/arguments.ts";
import { env } from "../environment.ts";
import { assert } from "../util/checks.ts";
import {
  getModelArtifactsForJSON,
  getModelArtifactsInfoForJSON,
  getModelJSONForModelArtifacts,
  getWeightSpecs,
} from "./io_utils.ts";
import { type IORouter, registerLoadRouter, registerSaveRouter } from "./router_registry.ts";
import type {
  IOHandler,
  LoadOptions,
  ModelArtifacts,
  ModelJSON,
  SaveResult,
  WeightData,
  WeightsManifestConfig,
  WeightsManifestEntry,
} from "./types.ts";
import { loadWeightsAsArrayBuffer, streamWeights } from "./weights_loader.ts";
import { CompositeArrayBuffer } from "./composite_array_buffer.ts";
import { fileWithin, folderOf } from "../../../library/io/within.ts";
import { Error } from "../../../engine/core/throwing/builtin_errors.ts";

/** A model on a server: loaded from the URL of its `model.json`, saved by a form posted to a URL. */
export class HTTPRequest implements IOHandler {
  /** URLs that this handles. */
  static readonly URL_SCHEME_REGEX: RegExp = /^https?:\/\//;
  /** Method of the request that saves. */
  readonly DEFAULT_METHOD = "POST";
  /** The URL. */
  protected readonly path: string;
  /** Options of each request. */
  protected readonly requestInit: RequestInit;
  readonly #options: LoadOptions;

  /** Throws for an empty path, and for a `requestInit` with a body. */
  constructor(path: string, loadOptions: LoadOptions = {}) {
    assert(
      path !== null && path !== undefined && path.length > 0,
      "Cannot load over HTTP: the URL is empty",
    );
    if (Array.isArray(path)) {
      assert(
        path.length === 2,
        () => `Cannot load over HTTP: wanted 2 URLs, received ${path.length}`,
      );
    }
    const { fetchFunc, requestInit = {} } = loadOptions ?? {};
    assert(
      fetchFunc === undefined || fetchFunc === null || typeof fetchFunc === "function",
      "Cannot load over HTTP: fetchFunc is no function",
    );
    if (requestInit?.body) {
      throw new Error("Cannot load over HTTP: requestInit has a body");
    }
    this.path = path;
    this.requestInit = requestInit ?? {};
    this.#options = loadOptions ?? {};
  }

  /**
   * Sends the model as a form of two files, `model.json` and `model.weights.bin`. Rejects for an answer other than 200.
   */
  async save(modelArtifacts: ModelArtifacts): Promise<SaveResult> {
    if (modelArtifacts.modelTopology instanceof ArrayBuffer) {
      throw new Error("Cannot save over HTTP: wanted a topology in JSON, received an ArrayBuffer");
    }
    const body = new FormData();
    const manifest = [{
      paths: ["./model.weights.bin"],
      weights: modelArtifacts.weightSpecs ?? [],
    }];
    const json = JSON.stringify(getModelJSONForModelArtifacts(modelArtifacts, manifest));
    body.append("model.json", new Blob([json], { type: "application/json" }), "model.json");
    if (modelArtifacts.weightData) {
      const bytes = CompositeArrayBuffer.join(modelArtifacts.weightData);
      const blob = new Blob([bytes], { type: "application/octet-stream" });
      body.append("model.weights.bin", blob, "model.weights.bin");
    }
    const init = { method: this.DEFAULT_METHOD, ...this.requestInit, body };
    const response = await this.#fetch(this.path, init);
    if (!response.ok) {
      await response.body?.cancel();
      throw new Error(
        `Cannot save to ${this.path}: the server answered ${response.status}`,
      );
    }
    return {
      modelArtifactsInfo: getModelArtifactsInfoForJSON(modelArtifacts),
      responses: [response],
    };
  }

  /** Loads `model.json` and the files that it names; with `streamWeights` those are fetched as they are read. */
  async load(): Promise<ModelArtifacts> {
    const json = await this.#loadJson();
    if (!this.#options.streamWeights) {
      return await getModelArtifactsForJSON(json, (manifest) => this.#loadWeights(manifest));
    }
    const urls = await this.#weightUrls(json.weightsManifest);
    const options = this.#options;
    return {
      ...await getModelArtifactsForJSON(
        { ...json, weightsManifest: undefined as unknown as WeightsManifestConfig },
        () => Promise.reject(new Error("No weights are loaded here")),
      ),
      weightSpecs: getWeightSpecs(json.weightsManifest),
      getWeightStream: () => streamWeights(urls, options),
    };
  }

  #fetch(url: string, init: RequestInit): Promise<Response> {
    const { fetchFunc } = this.#options;
    return fetchFunc ? fetchFunc(url, init) : env().platform.fetch(url, init);
  }

  async #loadJson(): Promise<ModelJSON> {
    const response = await this.#fetch(this.path, this.requestInit);
    if (!response.ok) {
      await response.body?.cancel();
      throw new Error(
        `Cannot load ${this.path}: the server answered ${response.status}`,
      );
    }
    let json: ModelJSON;
    try {
      json = await response.json();
    } catch (cause) {
      throw new Error(
        `Cannot load ${this.path}: it is no JSON${
          this.path.endsWith(".pb") ? "; a frozen model must be converted first" : ""
        }`,
        { cause },
      );
    }
    if (!json.modelTopology && !json.weightsManifest) {
      throw new Error(
        `Cannot load ${this.path}: it has neither modelTopology nor weightsManifest`,
      );
    }
    return json;
  }

  async #loadWeights(
    manifest: WeightsManifestConfig,
  ): Promise<[WeightsManifestEntry[], WeightData]> {
    const urls = await this.#weightUrls(manifest);
    return [getWeightSpecs(manifest), await loadWeightsAsArrayBuffer(urls, this.#options)];
  }

  async #weightUrls(manifest: WeightsManifestConfig): Promise<string[]> {
    const path = Array.isArray(this.path) ? this.path[1] : this.path;
    const [prefix, suffix] = parseUrl(path);
    const { weightPathPrefix, weightUrlConverter } = this.#options;
    return await Promise.all(
      manifest.flatMap(({ paths }) => paths).map((file) =>
        weightUrlConverter
          ? weightUrlConverter(file)
          : fileWithin((weightPathPrefix || prefix) + file + suffix, [
            folderOf(weightPathPrefix || prefix),
          ])
      ),
    );
  }
}

/** Splits a URL into its folder and its query. */
export function parseUrl(url: string): [string, string] {
  const query = url.lastIndexOf("?");
  const slash = url.lastIndexOf("/", query > 0 ? query : url.length);
  return [url.substring(0, slash) + "/", query > slash && query > 0 ? url.substring(query) : ""];
}

/**
 * True for an HTTP URL.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.io.isHTTPScheme("https://a.b/model.json")); // true
 * ```
 */
export function isHTTPScheme(url: string): boolean {
  wantString(url, "url", "isHTTPScheme");
  return HTTPRequest.URL_SCHEME_REGEX.test(url);
}

/** True for a text that is an HTTP URL. */
function isHttpUrl(url: unknown): boolean {
  return typeof url === "string" && isHTTPScheme(url);
}

/** Makes the handler of HTTP URLs. */
export const httpRouter: IORouter = (url, loadOptions) => {
  if (typeof fetch === "undefined" && !loadOptions?.fetchFunc) return null;
  const isHttp = Array.isArray(url) ? url.every(isHttpUrl) : isHttpUrl(url);
  return isHttp ? http(url as string, loadOptions) : null;
};
registerSaveRouter(httpRouter);
registerLoadRouter(httpRouter);

/** Makes the handler of a model on a server. */
export function http(path: string, loadOptions?: LoadOptions): IOHandler {
  return new HTTPRequest(path, loadOptions);
}

/** The older name of {@linkcode http}. */
export function browserHTTPRequest(path: string, loadOptions?: LoadOptions): IOHandler {
  return http(path, loadOptions);
}
