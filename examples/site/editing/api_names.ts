/** Names of the library as the editor knows them: a part of the reference that the site writes as `api.json`. */

/** A name of the library, or a member of one of its types. */
export interface ApiName {
  /** "function", "class", "value" and so on. */
  readonly kind: string;
  /** Its declaration; overloads are lines of their own. */
  readonly signature: string;
  /** Its first sentence. */
  readonly about: string;
  /** The type that it has or returns; empty where that is no type of the library. */
  readonly type: string;
  /** Its place in the reference. */
  readonly place: string;
}

/** A class or an interface. */
export interface ApiType {
  /** Types whose members it has too. */
  readonly bases: readonly string[];
  readonly members: Readonly<Record<string, ApiName>>;
}

/** The content of the file: names as behind `tf.`, and types. */
export interface ApiNames {
  readonly names: Readonly<Record<string, ApiName>>;
  readonly types: Readonly<Record<string, ApiType>>;
}
