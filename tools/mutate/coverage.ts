/**
 * Learns which tests execute which places of the sources, by running each test file once with counters in the sources.
 * What was learnt is kept for each test file until that file changes.
 *
 * @module
 */

import { exists, list, read } from "../files.ts";
import { instrument } from "./instrument.ts";
import type { Mutant } from "./mutants.ts";
import type { TestRecord } from "./preload.ts";
import { type TestDevice, Workspace } from "./workspace.ts";

/** A test that may be run for a mutant. */
export interface KnownTest {
  readonly file: string;
  readonly name: string;
  readonly device: TestDevice;
  /** Duration. */
  readonly ms: number;
  /** From 0 to 1: how much it is about the mutant, as far as what it executes tells. */
  readonly share: number;
}

/** The stored data of a test file. */
interface LearntFile {
  /** Of its text. */
  readonly hash: string;
  readonly tests: readonly LearntTest[];
}

interface LearntTest {
  readonly name: string;
  readonly ms: number;
  readonly passed: boolean;
  /** For each source the counters that were met, as bits in base64, with the source's hash. */
  readonly hits: Readonly<Record<string, readonly [hash: string, bits: string]>>;
}

const CACHE = ".cache/mutate";

/** A whole file of tests on a software adapter may be silent for that long. */
const SILENCE_MS = 300_000;

/** Characters between places that are near each other: a few lines. */
const NEAR = 400;

/** Tests that start other programs or read the sources: all slow, and no news about a mutant. */
const LEFT_OUT =
  /^tests\/(browser|node|examples|npm_only|tools|mutate)\/|^tests\/(package|architecture|tools|mutate|import_map|protobuf)_test/;

/** The tests that a mutant may be shown to. */
export function testFiles(): string[] {
  return list("tests", "_test.ts").filter((file) => !LEFT_OUT.test(file));
}

/** Code that runs in threads with counters of their own counts as executed where it is called. */
const IN_WORKERS: Readonly<Record<string, string>> = {
  "src/engine/script/workers/worker_main.ts": "src/engine/script/workers/worker_pool.ts",
};

/** The coverage of the tests. */
export class Coverage {
  readonly #sources: ReadonlyMap<string, string>;
  readonly #ranges = new Map<
    string,
    { hash: string; ranges: readonly (readonly [number, number])[] }
  >();
  readonly #learnt: {
    test: Omit<KnownTest, "share">;
    hits: Map<string, [string, Uint8Array]>;
    /** Places it executes. */
    places: number;
  }[] = [];
  /** For each source, the places that are executed when modules are loaded. */
  readonly #loaded = new Map<string, Set<number>>();

  /** @param sources The texts of the files that are counted. */
  constructor(sources: ReadonlyMap<string, string>) {
    this.#sources = sources;
  }

  /** Learns what is not known yet of the tests on a device. */
  async learn(device: TestDevice, say: (line: string) => void): Promise<void> {
    await Deno.mkdir(`${CACHE}/${device}`, { recursive: true });
    let base = 0;
    const parts = [];
    for (const [file, source] of this.#sources) {
      const { text, ranges } = instrument(source, base);
      this.#ranges.set(file, { hash: await hashOf(source), ranges });
      parts.push({ file, base, text, count: ranges.length });
      base += ranges.length;
    }
    let workspace: Workspace | undefined;
    for (const file of testFiles()) {
      const cached = `${CACHE}/${device}/${file.replaceAll("/", "_")}.json`;
      const hash = await hashOf(read(file));
      let learnt: LearntFile | null = exists(cached) ? JSON.parse(read(cached)) : null;
      if (learnt?.hash !== hash) {
        if (device === "webgpu" && !/\[webgpu\]|testOnDevices|testOnGpu|DEVICES/.test(read(file))) {
          learnt = { hash, tests: [] };
        } else {
          if (!workspace) {
            workspace = await Workspace.create("counted");
            for (const { file, text } of parts) workspace.write(file, text);
          }
          learnt = { hash, tests: await this.#run(workspace, file, device, parts) };
        }
        await Deno.writeTextFile(cached, JSON.stringify(learnt));
        const failed = learnt.tests.filter((test) => !test.passed).map((test) => test.name);
        const count = `${learnt.tests.length} tests`;
        say(
          `${device}: ${file}: ${count}${failed.length ? `, left out: ${failed.join("; ")}` : ""}`,
        );
      }
      this.#remember(file, device, learnt);
    }
    workspace?.[Symbol.dispose]();
  }

  /** The tests that execute a mutant, fastest first. */
  testsOf(mutant: Mutant): KnownTest[] {
    const { hash, ranges } = this.#ranges.get(mutant.file)!;
    // Places within others come after them.
    const place = ranges.findLastIndex(([start, end]) =>
      start <= mutant.start && mutant.end <= end
    );
    // What runs while modules are loaded made something that any user of the file may see.
    const isLoaded = place < 0 || this.#loaded.get(mutant.file)?.has(place);
    const asked = IN_WORKERS[mutant.file];
    const tests = this.#learnt.filter(({ hits }) => {
      const known = hits.get(asked ?? mutant.file);
      if (!known) return false;
      return asked !== undefined || isLoaded || known[0] !== hash ||
        (known[1][place >> 3] >> (place & 7) & 1) === 1;
    });
    // What was learnt of another state of the source speaks of other places.
    const met = tests.map(({ hits }) => hits.get(asked ?? mutant.file)!);
    const rarity = this.#rarity(
      met.filter(([of]) => of === hash).map(([, bits]) => bits),
      ranges,
      mutant,
    );
    return tests.map(({ test, places }, i) => {
      const [of, bits] = met[i];
      const share = countBits(bits) / places;
      return { ...test, share: of === hash ? Math.max(share, rarity(bits)) : share };
    }).sort((a, b) => a.ms - b.ms);
  }

  /**
   * Returns the rarity of the rarest executed place around the mutant: a test that takes the other branch notices it.
   */
  #rarity(
    all: readonly Uint8Array[],
    ranges: readonly (readonly [number, number])[],
    { start }: Mutant,
  ): (bits: Uint8Array) => number {
    const near = ranges.keys().filter((i) => Math.abs(ranges[i][0] - start) < NEAR).toArray();
    const has = (bits: Uint8Array, i: number): boolean => (bits[i >> 3] >> (i & 7) & 1) === 1;
    const counts = new Map(near.map((i) => [i, all.filter((bits) => has(bits, i)).length]));
    return (bits) =>
      near.reduce((most, i) => has(bits, i) ? Math.max(most, 1 / counts.get(i)!) : most, 0);
  }

  async #run(
    workspace: Workspace,
    file: string,
    device: TestDevice,
    parts: readonly { file: string; base: number; count: number }[],
  ): Promise<LearntTest[]> {
    const record = workspace.path("mutate_record.jsonl");
    Deno.writeTextFileSync(record, "");
    const request = { tests: null, record };
    await workspace.test([file], { device, request, idleMs: () => SILENCE_MS, failFast: false });
    const lines = Deno.readTextFileSync(record).split("\n").filter((line) => line !== "");
    return lines.map((line) => {
      const { name, ms, passed, hits } = JSON.parse(line) as TestRecord;
      const mine: Record<string, [string, string]> = {};
      let i = 0;
      for (const { file, base, count } of parts) {
        const bits = new Uint8Array((count + 7) >> 3);
        let any = false;
        for (; i < hits.length && hits[i] < base + count; i++) {
          const place = hits[i] - base;
          bits[place >> 3] |= 1 << (place & 7);
          any = true;
        }
        if (any) mine[file] = [this.#ranges.get(file)!.hash, bits.toBase64()];
      }
      return { name, ms, passed, hits: mine };
    });
  }

  #remember(file: string, device: TestDevice, { tests }: LearntFile): void {
    for (const { name, ms, passed, hits } of tests) {
      const bits = Object.entries(hits).map(([source, [hash, text]]) =>
        [source, [hash, Uint8Array.fromBase64(text)]] as [string, [string, Uint8Array]]
      );
      if (name !== "") {
        const places = bits.reduce((sum, [, [, met]]) => sum + countBits(met), 0);
        const test = { file, name, device, ms };
        if (passed) this.#learnt.push({ test, hits: new Map(bits), places });
        continue;
      }
      for (const [source, [hash, met]] of bits) {
        if (hash !== this.#ranges.get(source)?.hash) continue;
        const places = this.#loaded.get(source) ?? new Set();
        this.#loaded.set(source, places);
        for (let i = 0; i < met.length * 8; i++) if (met[i >> 3] >> (i & 7) & 1) places.add(i);
      }
    }
  }
}

function countBits(bytes: Uint8Array): number {
  let count = 0;
  for (let byte of bytes) for (; byte; byte &= byte - 1) count++;
  return count;
}

async function hashOf(text: string): Promise<string> {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return new Uint8Array(bytes).toHex().slice(0, 16);
}
