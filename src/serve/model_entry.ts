/** A served model: its versions, and the calls that both protocols make of it. */
import { ValueError } from "../engine/core/errors.ts";
import type { NdArray } from "../engine/core/nd_array.ts";
import { compatible, shapeText } from "../engine/core/shape.ts";
import type { Spec } from "../engine/core/tensor_spec.ts";
import { Batcher, type QueueOptions } from "./batcher.ts";
import { HttpError } from "./http_error.ts";
import { shown } from "./values.ts";
import { DEFAULT_SIGNATURE, type Servable, type ServableModel, servablesOf } from "./servable.ts";

/** Runs in a row that are given up before a model counts as not ready. What they wait for stays in memory. */
const MOST_GIVEN_UP = 16;

/** Most names that a message shows. */
const MOST_QUOTED = 16;

/** One version of a model. */
export class ModelVersion {
  /** Name of the model. */
  readonly model: string;
  readonly version: string;
  /** Its signatures by name. */
  readonly signatures: ReadonlyMap<string, Servable>;
  readonly #queues: ReadonlyMap<string, Batcher>;

  constructor(model: string, version: string, source: ServableModel, options: QueueOptions) {
    this.model = model;
    this.version = version;
    this.signatures = servablesOf(source, model);
    this.#queues = new Map([...this.signatures].map(([k, s]) => [k, new Batcher(s, options)]));
  }

  /** Number of waiting requests. */
  get queued(): number {
    return [...this.#queues.values()].reduce((n, q) => n + q.length, 0);
  }

  /** False where a signature has given up so many runs, one after the other, that its bodies seem to never end. */
  get isReady(): boolean {
    return [...this.#queues.values()].every((q) => q.givenUp < MOST_GIVEN_UP);
  }

  /** Returns the name of the requested signature. Throws `HttpError` 400 for an unknown one. */
  signatureName(given: unknown): string {
    const names = [...this.signatures.keys()];
    const name = given === undefined || given === ""
      ? this.signatures.has(DEFAULT_SIGNATURE) ? DEFAULT_SIGNATURE : names[0]
      : given;
    if (typeof name === "string" && this.signatures.has(name)) return name;
    throw new HttpError(
      400,
      `Cannot call ${this.model}: it has no signature ${shown(name)}, wanted one of ${
        names.join(", ")
      }`,
    );
  }

  /** Runs a signature on arrays that {@linkcode checkNames} accepted. Rejects with `HttpError` 400 for wrong shapes. */
  async run(
    signature: string,
    inputs: Readonly<Record<string, NdArray>>,
    signal: AbortSignal,
  ): Promise<Record<string, NdArray>> {
    for (const [name, spec] of Object.entries(this.signatures.get(signature)!.inputs)) {
      checkShape(inputs[name], spec, `input "${name}" of ${this.model}`);
    }
    return await this.#queues.get(signature)!.call(inputs, signal);
  }
}

function checkShape(array: NdArray, { shape }: Spec, what: string): void {
  if (compatible(array.shape, shape)) return;
  throw new HttpError(
    400,
    `Cannot take ${what}: its shape is ${shapeText(array.shape)}, wanted ${shapeText(shape)}`,
  );
}

/** Throws `HttpError` 400 unless `given` are the names of a signature's inputs. */
export function checkNames(given: readonly string[], { inputs }: Servable, model: string): void {
  const wanted = Object.keys(inputs);
  const missing = wanted.filter((n) => !given.includes(n));
  const unknown = given.filter((n) => !wanted.includes(n));
  if (missing.length === 0 && unknown.length === 0) return;
  // A client may send thousands of names.
  const quoted = (names: readonly string[]): string =>
    names.slice(0, MOST_QUOTED).map(shown).join(", ") +
    (names.length > MOST_QUOTED ? ` and ${names.length - MOST_QUOTED} more` : "");
  throw new HttpError(
    400,
    `Cannot call ${model}: it takes ${quoted(wanted) || "nothing"}` +
      (missing.length > 0 ? `, ${quoted(missing)} is missing` : "") +
      (unknown.length > 0 ? `, ${quoted(unknown)} is unknown` : ""),
  );
}

/** Versions of a model by number; the highest is the default. */
export interface Versions {
  /** Models by version. */
  readonly versions: Readonly<Record<string, ServableModel>>;
}

/** All models of a handler. */
export class ModelList {
  readonly #models = new Map<string, ReadonlyMap<string, ModelVersion>>();

  /** Throws `ValueError` for names and versions that a URL cannot express. */
  constructor(
    models: Readonly<Record<string, ServableModel | Versions>>,
    optionsOf: (model: string) => QueueOptions,
  ) {
    if (Object.keys(models).length === 0) {
      throw new ValueError("Cannot serve no models: wanted some by their names in `models`");
    }
    for (const [name, given] of Object.entries(models)) {
      if (!/^[\w.-]+$/.test(name)) {
        throw new ValueError(
          `Cannot serve a model as ${
            JSON.stringify(name)
          }: wanted letters, digits, "_", "-" and "."`,
        );
      }
      const isVersioned = typeof given === "object" && given !== null && "versions" in given;
      const versions = isVersioned ? (given as Versions).versions : { 1: given as ServableModel };
      const made = Object.entries(versions).map(([version, model]) => {
        if (!/^\d+$/.test(version)) {
          throw new ValueError(
            `Cannot serve version "${version}" of "${name}": wanted a whole number`,
          );
        }
        return [version, new ModelVersion(name, version, model, optionsOf(name))] as const;
      });
      if (made.length === 0) throw new ValueError(`Cannot serve "${name}": it has no versions`);
      made.sort(([a], [b]) => Number(b) - Number(a));
      this.#models.set(name, new Map(made));
    }
  }

  get names(): string[] {
    return [...this.#models.keys()];
  }

  /** Number of waiting requests. */
  get queued(): number {
    return [...this.#models.values()].flatMap((m) => [...m.values()])
      .reduce((n, v) => n + v.queued, 0);
  }

  /** Returns the versions of a model, the highest first. Throws `HttpError` 404 for an unknown model. */
  versions(model: string): ModelVersion[] {
    const found = this.#models.get(model);
    if (found === undefined) throw new HttpError(404, `Cannot find a model "${model}"`);
    return [...found.values()];
  }

  /** Returns a version of a model, by default the highest. Throws `HttpError` 404 for an unknown one. */
  find(model: string, version: string | undefined): ModelVersion {
    const versions = this.versions(model);
    const found = version === undefined ? versions[0] : versions.find((v) => v.version === version);
    if (found !== undefined) return found;
    throw new HttpError(404, `Cannot find version ${version} of model "${model}"`);
  }
}
