/** Routers, which find the handler of a URL. */
import type { IOHandler, LoadOptions } from "./types.ts";

/** Returns the handler of a URL; null for a URL of another router. */
export type IORouter = (url: string | string[], loadOptions?: LoadOptions) => IOHandler | null;

/** The routers; `instance` is null until the first use. */
export class IORouterRegistry {
  /** The only registry. */
  static instance: IORouterRegistry | null = null;
  readonly #save: IORouter[] = [];
  readonly #load: IORouter[] = [];

  static #get(): IORouterRegistry {
    return IORouterRegistry.instance ??= new IORouterRegistry();
  }
  /** See {@linkcode registerSaveRouter}. */
  static registerSaveRouter(saveRouter: IORouter): void {
    IORouterRegistry.#get().#save.push(saveRouter);
  }
  /** See {@linkcode registerLoadRouter}. */
  static registerLoadRouter(loadRouter: IORouter): void {
    IORouterRegistry.#get().#load.push(loadRouter);
  }
  /** See {@linkcode getSaveHandlers}. */
  static getSaveHandlers(url: string | string[]): IOHandler[] {
    return handlers(IORouterRegistry.#get().#save, url);
  }
  /** See {@linkcode getLoadHandlers}. */
  static getLoadHandlers(url: string | string[], loadOptions?: LoadOptions): IOHandler[] {
    return handlers(IORouterRegistry.#get().#load, url, loadOptions);
  }
}

function handlers(
  routers: readonly IORouter[],
  url: string | string[],
  options?: LoadOptions,
): IOHandler[] {
  return routers.map((router) => router(url, options)).filter((handler) => handler !== null);
}

/** Adds a router for saving. */
export function registerSaveRouter(saveRouter: IORouter): void {
  IORouterRegistry.registerSaveRouter(saveRouter);
}
/** Adds a router for loading. */
export function registerLoadRouter(loadRouter: IORouter): void {
  IORouterRegistry.registerLoadRouter(loadRouter);
}
/** Finds the handlers that save to a URL. */
export function getSaveHandlers(url: string | string[]): IOHandler[] {
  return IORouterRegistry.getSaveHandlers(url);
}
/** Finds the handlers that load from a URL. */
export function getLoadHandlers(url: string | string[], loadOptions?: LoadOptions): IOHandler[] {
  return IORouterRegistry.getLoadHandlers(url, loadOptions);
}
