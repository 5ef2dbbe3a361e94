/**
 * Scripts without a registered name that GraphDefs may call: in this process, the scripts of graphs written here; from
 * a network, the scripts that a local session offered under a secret token.
 */
import type { Script } from "./script.ts";

/** Scripts by token, while their graphs live. */
class ScriptTable {
  readonly #scripts = new Map<string, WeakRef<Script>>();
  readonly #forgotten = new FinalizationRegistry<string>((token) => this.#scripts.delete(token));

  get(token: string): Script | undefined {
    return this.#scripts.get(token)?.deref();
  }

  set(token: string, script: Script): void {
    if (this.#scripts.has(token)) return;
    this.#scripts.set(token, new WeakRef(script));
    this.#forgotten.register(script, token);
  }

  delete(token: string): void {
    this.#scripts.delete(token);
  }
}

/** Scripts of written GraphDefs, by token: such a GraphDef can be imported in this process. */
export const writtenScripts: ScriptTable = new ScriptTable();

/** Scripts that graphs from a network may call, by unguessable token. */
export const offeredScripts: ScriptTable = new ScriptTable();

/** The scripts that one session offers to the cluster tasks of this process. */
export class ScriptOffers {
  readonly #tokens = new Map<Script, string>();
  readonly #known = new Set<string>();

  /** Returns the token of a script for this session alone. */
  tokenOf(script: Script): string {
    let token = this.#tokens.get(script);
    if (token === undefined) {
      token = `${script.token}:${crypto.randomUUID()}`;
      this.#tokens.set(script, token);
      this.#known.add(token);
      offeredScripts.set(token, script);
    }
    return token;
  }

  /** True for a token of this session. */
  has(token: string): boolean {
    return this.#known.has(token);
  }

  /** Ends all offers: graphs read before keep their scripts. */
  withdraw(): void {
    for (const token of this.#known) offeredScripts.delete(token);
    this.#tokens.clear();
    this.#known.clear();
  }
}
