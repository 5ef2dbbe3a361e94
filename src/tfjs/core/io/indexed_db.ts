/**
 * Models in the browser's database: `indexeddb://name`. Names of database and stores are TensorFlow.js's, so that pages
 * find models that they saved with it.
 */
import { CompositeArrayBuffer } from "./composite_array_buffer.ts";
import { getModelArtifactsInfoForJSON } from "./io_utils.ts";
import { ModelStoreManagerRegistry } from "./model_management.ts";
import { type IORouter, registerLoadRouter, registerSaveRouter } from "./router_registry.ts";
import type {
  IOHandler,
  ModelArtifacts,
  ModelArtifactsInfo,
  ModelStoreManager,
  SaveResult,
} from "./types.ts";
import { Error } from "../../../engine/core/throwing/builtin_errors.ts";

const DATABASE = "tensorflowjs";
const VERSION = 1;
const MODELS = "models_store";
const INFOS = "model_info_store";
const SCHEME = "indexeddb://";

/** A row of the store of models. */
interface ModelRow {
  readonly modelPath: string;
  readonly modelArtifacts: ModelArtifacts;
}
/** A row of the store of models' sizes. */
interface InfoRow {
  readonly modelPath: string;
  readonly modelArtifactsInfo: ModelArtifactsInfo;
}

/** The used part of the browser's database, which Deno's types lack. */
interface Request<T> {
  readonly result: T;
  readonly error: unknown;
  onsuccess: (() => void) | null;
  onerror: (() => void) | null;
}
interface OpenRequest extends Request<Database> {
  onupgradeneeded: (() => void) | null;
}
interface Factory {
  open(name: string, version: number): OpenRequest;
  deleteDatabase(name: string): Request<unknown>;
}
interface Database {
  createObjectStore(name: string, options: { keyPath: string }): unknown;
  transaction(stores: string[], mode: Mode): Transaction;
  close(): void;
}
interface Transaction {
  readonly error: unknown;
  oncomplete: (() => void) | null;
  onabort: (() => void) | null;
  onerror: (() => void) | null;
  objectStore(name: string): Store;
}
interface Store {
  get(key: string): Request<unknown>;
  getAll(): Request<unknown[]>;
  put(row: object): Request<unknown>;
  delete(key: string): Request<unknown>;
}
type Mode = "readonly" | "readwrite";

function factory(): Factory {
  const { indexedDB } = globalThis as { indexedDB?: Factory };
  if (indexedDB) return indexedDB;
  throw new Error("Cannot use IndexedDB: there is none here");
}

function done<T>(request: Request<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** Runs `fn` with the stores open, and waits until its writes are complete. */
async function within<T>(
  mode: Mode,
  fn: (models: Store, infos: Store) => Promise<T>,
): Promise<T> {
  const opening = factory().open(DATABASE, VERSION);
  opening.onupgradeneeded = () => {
    for (const store of [MODELS, INFOS]) {
      opening.result.createObjectStore(store, { keyPath: "modelPath" });
    }
  };
  const database = await done(opening);
  try {
    const transaction = database.transaction([MODELS, INFOS], mode);
    const written = new Promise<void>((resolve, reject) => {
      transaction.oncomplete = () => resolve();
      transaction.onabort = transaction.onerror = () => reject(transaction.error);
    });
    // Awaited below too; this keeps a rejection from being unhandled where `fn` fails first.
    written.catch(() => {});
    const result = await fn(transaction.objectStore(MODELS), transaction.objectStore(INFOS));
    await written;
    return result;
  } finally {
    database.close();
  }
}

/** Deletes the database with all models. */
export async function deleteDatabase(): Promise<void> {
  await done(factory().deleteDatabase(DATABASE));
}

/** A model in the database. */
export class BrowserIndexedDB implements IOHandler {
  /** Beginning of the URLs. */
  static readonly URL_SCHEME: string = SCHEME;
  /** Name of the model. */
  protected readonly modelPath: string;

  /** Throws for an empty name, and where there is no database. */
  constructor(modelPath: string) {
    factory();
    if (!modelPath) {
      throw new Error("Cannot name a model in IndexedDB: the name is empty");
    }
    this.modelPath = modelPath;
  }

  /** Saves the model. */
  async save(modelArtifacts: ModelArtifacts): Promise<SaveResult> {
    const { modelPath } = this;
    if (modelArtifacts.modelTopology instanceof ArrayBuffer) {
      throw new Error(
        "Cannot save to IndexedDB: wanted a topology in JSON, received an ArrayBuffer",
      );
    }
    const whole = {
      ...modelArtifacts,
      weightData: CompositeArrayBuffer.join(modelArtifacts.weightData ?? []),
    };
    const modelArtifactsInfo = getModelArtifactsInfoForJSON(whole);
    await within("readwrite", async (models, infos) => {
      await Promise.all([
        done(infos.put({ modelPath, modelArtifactsInfo } satisfies InfoRow)),
        done(models.put({ modelPath, modelArtifacts: whole } satisfies ModelRow)),
      ]);
    });
    return { modelArtifactsInfo };
  }

  /** Loads the model. Rejects where there is none. */
  async load(): Promise<ModelArtifacts> {
    const { modelPath } = this;
    const row = await within("readonly", (models) => done(models.get(modelPath)));
    if (row === undefined) {
      throw new Error(`Cannot load ${modelPath}: IndexedDB has no such model`);
    }
    return (row as ModelRow).modelArtifacts;
  }
}

/** Makes the handler of URLs of the database. */
export const indexedDBRouter: IORouter = (url) =>
  typeof url === "string" && url.startsWith(SCHEME) && "indexedDB" in globalThis
    ? browserIndexedDB(url.slice(SCHEME.length))
    : null;
registerSaveRouter(indexedDBRouter);
registerLoadRouter(indexedDBRouter);

/** Makes the handler of a model in the database. */
export function browserIndexedDB(modelPath: string): IOHandler {
  return new BrowserIndexedDB(modelPath);
}

/** The models in the database. */
export class BrowserIndexedDBManager implements ModelStoreManager {
  /** Throws where there is no database. */
  constructor() {
    factory();
  }
  /** Models by name. */
  async listModels(): Promise<{ [path: string]: ModelArtifactsInfo }> {
    const rows = await within("readonly", (_, infos) => done(infos.getAll())) as InfoRow[];
    return Object.fromEntries(rows.map((row) => [row.modelPath, row.modelArtifactsInfo]));
  }
  /** Deletes a model. Rejects where there is none. */
  async removeModel(path: string): Promise<ModelArtifactsInfo> {
    const name = path.startsWith(SCHEME) ? path.slice(SCHEME.length) : path;
    return await within("readwrite", async (models, infos) => {
      const row = await done(infos.get(name)) as InfoRow | undefined;
      if (row === undefined) throw new Error(`Cannot remove ${name}: IndexedDB has no such model`);
      await Promise.all([done(infos.delete(name)), done(models.delete(name))]);
      return row.modelArtifactsInfo;
    });
  }
}

if ("indexedDB" in globalThis) {
  ModelStoreManagerRegistry.registerManager(SCHEME, new BrowserIndexedDBManager());
}
