/** `tf.serialization`: classes that are written as JSON and made again by their names. */
import { compileSteps } from "../layers/compiled.ts";
import { noteClass } from "../layers/purity.ts";
import { assert } from "./util/checks.ts";
import { wantFunction } from "../../engine/core/arguments.ts";

/** A value that JSON holds. */
export type ConfigDictValue = boolean | number | string | null | ConfigDictArray | ConfigDict;
/** Settings by name. */
export interface ConfigDict {
  /** A setting. */
  [key: string]: ConfigDictValue;
}
/** Settings in a row. */
export interface ConfigDictArray extends Array<ConfigDictValue> {}

/** A class that can be made again. */
export interface SerializableConstructor<T extends Serializable> {
  /** Makes one. */
  new (...args: never[]): T;
  /** The name in JSON. */
  className: string;
  /** Makes an object of its settings. */
  fromConfig: FromConfigMethod<T>;
}
/** Makes an object of its settings. */
export type FromConfigMethod<T extends Serializable> = (
  cls: SerializableConstructor<T>,
  config: ConfigDict,
) => T;

/** An object with settings, from which it can be made again. */
export interface Serializable {
  /** Returns the name in JSON. */
  getClassName(): string;
  /** Returns the settings for JSON. */
  getConfig(): ConfigDict;
}

/** The class {@linkcode Serializable}. */
export interface SerializableClass {
  /** Called by subclasses. */
  new (): Serializable;
  /** The shared methods. */
  readonly prototype: Serializable;
  /** Makes an object of its settings. */
  fromConfig<T extends Serializable>(cls: SerializableConstructor<T>, config: ConfigDict): T;
}

/**
 * The base class of serializable objects. It is a function, since packages compiled for old engines call their base
 * class without `new`.
 */
export const Serializable: SerializableClass = Object.assign(
  function Serializable(): void {} as unknown as { prototype: Serializable; new (): Serializable },
  {
    fromConfig<T extends Serializable>(cls: SerializableConstructor<T>, config: ConfigDict): T {
      return new cls(config as never);
    },
  },
);
Serializable.prototype.getClassName = function (this: Serializable): string {
  return (this.constructor as unknown as SerializableConstructor<Serializable>).className;
};

/** Registered classes by their names. */
export class SerializationMap {
  static #instance: SerializationMap | undefined;
  /** Classes by `className`, with their factories. */
  readonly classNameMap: {
    [className: string]: [SerializableConstructor<Serializable>, FromConfigMethod<Serializable>];
  } = {};

  /** Returns the only map. */
  static getMap(): SerializationMap {
    return SerializationMap.#instance ??= new SerializationMap();
  }
  /** Adds a class by its `className`. */
  static register<T extends Serializable>(cls: SerializableConstructor<T>): void {
    const anyClass = cls as unknown as SerializableConstructor<Serializable>;
    SerializationMap.getMap().classNameMap[cls.className] = [anyClass, anyClass.fromConfig];
  }
}

const registeredNames = new Map<unknown, string>();

/** Registers a class, so that models with it can be loaded. Throws where its name is no text. */
export function registerClass<T extends Serializable>(
  cls: SerializableConstructor<T>,
  pkg = "Custom",
  name?: string,
): SerializableConstructor<T> {
  wantFunction(cls, "cls", "registerClass");
  const { className } = cls;
  assert(
    className !== null && className !== undefined,
    "Cannot register a class: it has no static className",
  );
  assert(
    typeof className === "string",
    () => `Cannot register a class: its className is of type ${typeof className}, wanted a string`,
  );
  assert(
    className.length > 0,
    "Cannot register a class: its className is empty",
  );
  registeredNames.set(cls, `${pkg}>${name ?? className}`);
  noteClass(cls);
  compileSteps(cls as unknown as { readonly prototype: object });
  SerializationMap.register(cls);
  return cls;
}

/**
 * Returns the name that a class was registered by, with its package; else its `className`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * class Mine {
 *   static className = "Mine";
 * }
 * console.log(tf.serialization.getRegisteredName(Mine as never)); // Mine
 * ```
 */
export function getRegisteredName<T extends Serializable>(cls: SerializableConstructor<T>): string {
  wantFunction(cls, "cls", "getRegisteredName");
  return registeredNames.get(cls) ?? cls.className;
}
