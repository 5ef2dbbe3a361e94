/**
 * Finds the handler of a URL: routers are asked one after the other.
 */
import type { IOHandler, LoadOptions } from "./types.ts";

/** Gives the handler of a URL; null where the URL is not its own. */
export type IORouter = (url: string | string[], loadOptions?: LoadOptions) => IOHandler | null;

/** The routers; `instance` is null until one is added or asked for. */
export class IORouterRegistry {
  /** The one registry there is. */
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

/** Adds a router that is asked where models are to be saved. */
export function registerSaveRouter(saveRouter: IORouter): void {
  IORouterRegistry.registerSaveRouter(saveRouter);
}
/** Adds a router that is asked where models come from. */
export function registerLoadRouter(loadRouter: IORouter): void {
  IORouterRegistry.registerLoadRouter(loadRouter);
}
/** The handlers that save to a URL. */
export function getSaveHandlers(url: string | string[]): IOHandler[] {
  return IORouterRegistry.getSaveHandlers(url);
}
/** The handlers that load from a URL. */
export function getLoadHandlers(url: string | string[], loadOptions?: LoadOptions): IOHandler[] {
  return IORouterRegistry.getLoadHandlers(url, loadOptions);
}
