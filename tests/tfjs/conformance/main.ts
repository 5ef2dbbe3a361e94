// Runs the op tests that TensorFlow.js publishes inside its npm package against Weft, per device.
//
//   deno task conformance [--device cpu|webgpu|both] [--file PART] [--grep PART] [--list] [--verbose]
//                         [--propose] [--subject weft|backend|tfjs]
//
// --file and --grep keep the test files and specs whose names contain PART. --list says which files run and which
// names the others miss. --propose prints entries for tests/tfjs/conformance/expected_failures.json to be given a reason.
// --subject backend runs the suite against TensorFlow.js on the backend "weft", which checks its kernels one by one, and --subject tfjs
// against TensorFlow.js itself, which checks this harness.
//
// A whole run of Weft compares the snippets of doc comments as well (see tests/tfjs/snippets/main.ts).
//
// What differs by design: an error must be thrown on purpose but may have another text (see jasmine_util.ts), and
// numbers must be closer than TensorFlow.js asks (see test_util.ts). Exit status 0 means that the outcome is exactly
// what tests/tfjs/conformance/expected_failures.json says.

import { runTask } from "../../../tools/dev/help.ts";
import { TextLineStream } from "./text_lines.ts";
import { parseArgs } from "node:util";
import { type BundledFile, bundleSuite, scanSuite } from "./bundle.ts";
import { judge, readExpectations, type Verdict } from "./expectations.ts";
import { findSuite } from "./files.ts";
import { fromFileUrl } from "../../../tools/paths.ts";
import { MISSING, RESULT_MARKER, type RunRequest, type SpecResult } from "./protocol.ts";
import { loadSubject, SUBJECTS } from "./subject.ts";
import { compareSnippets } from "../snippets/main.ts";

const EXPECTATIONS = new URL("./expected_failures.json", import.meta.url);
const CHILD = new URL("./run.ts", import.meta.url);

/** Maximum number of unexpected failures that are printed in full. */
const MAX_PRINTED = 60;

/** Files whose tests run kernels: the others are about what TensorFlow.js does without a backend. */
const OF_KERNELS = /^(ops|optimizers)\/|^(buffer|gradients|tensor|variable)_test/;

interface Options {
  readonly devices: readonly string[];
  readonly file: string;
  readonly grep: string;
  readonly subject: string;
  readonly list: boolean;
  readonly verbose: boolean;
  readonly propose: boolean;
}

function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      device: { type: "string", default: "both" },
      file: { type: "string", default: "" },
      grep: { type: "string", default: "" },
      subject: { type: "string", default: "weft" },
      list: { type: "boolean", default: false },
      verbose: { type: "boolean", default: false },
      propose: { type: "boolean", default: false },
    },
  });
  if (!["cpu", "webgpu", "both"].includes(values.device)) {
    throw new RangeError(`Cannot use --device ${values.device}: it is one of cpu, webgpu, both`);
  }
  if (!(SUBJECTS as readonly string[]).includes(values.subject)) {
    throw new RangeError(`Cannot use --subject ${values.subject}: it is one of ${SUBJECTS}`);
  }
  return {
    ...values,
    devices: values.device === "both" ? ["cpu", "webgpu"] : [values.device],
  };
}

/** Runs the bundle in a child process and collects what it says. */
async function runOnDevice(request: RunRequest): Promise<SpecResult[]> {
  const child = new Deno.Command(Deno.execPath(), {
    // A location, so that there is local storage.
    args: [
      ...["run", "-A", "--no-check", "--location", "http://localhost/conformance"],
      ...[fromFileUrl(CHILD), JSON.stringify(request)],
    ],
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const results: SpecResult[] = [];
  let started: SpecResult | null = null;
  const stderr = new Response(child.stderr).text();
  for await (const line of child.stdout.pipeThrough(new TextLineStream())) {
    if (!line.startsWith(RESULT_MARKER)) continue;
    const result = JSON.parse(line.slice(RESULT_MARKER.length)) as SpecResult;
    if (result.status === "started") {
      started = result;
    } else {
      results.push(result);
      started = null;
    }
  }
  const { code } = await child.status;
  if (code !== 0) {
    const message = `Process ended with status ${code}\n${(await stderr).trim().slice(-2000)}`;
    const where = started ??
      { file: "", spec: results.length === 0 ? "(loading)" : "(after all specs)" };
    results.push({ file: where.file, spec: where.spec, status: "failed", message });
  }
  return results;
}

function printList(
  files: readonly BundledFile[],
  excluded: readonly { name: string; reason: string }[],
): void {
  for (const { name, specs, source, fileMissing } of files) {
    console.log(
      source === null
        ? `skip  ${name} (${specs}): no ${fileMissing.join(", ")}`
        : `run   ${name} (${specs})`,
    );
  }
  for (const { name, reason } of excluded) console.log(`never ${name}: ${reason}`);
}

/** Prints which names are missing and how many specs wait for each, most wanted first. */
function printMissing(files: readonly BundledFile[], results: readonly SpecResult[]): void {
  const wanted = new Map<string, number>();
  const add = (names: readonly string[], count: number) =>
    names.forEach((name) => wanted.set(name, (wanted.get(name) ?? 0) + count));
  for (const { source, fileMissing, specs } of files) if (source === null) add(fileMissing, specs);
  for (const { status, message } of results) {
    if (status !== "skipped" || !message.startsWith(MISSING)) continue;
    add(message.slice(MISSING.length).split(", "), 1);
  }
  if (wanted.size === 0) return;
  const parts = [...wanted].sort((a, b) => b[1] - a[1]).map(([name, count]) =>
    `${name} (${count})`
  );
  console.log(`Missing names, with the specs that need them: ${parts.join(", ")}`);
}

function printVerdict(
  device: string,
  { unexpected, fixed, stale }: Verdict,
  propose: boolean,
): void {
  for (const { file, spec, message } of unexpected.slice(0, MAX_PRINTED)) {
    console.log(`FAILED [${device}] ${file}: ${spec}\n    ${message.replaceAll("\n", "\n    ")}`);
  }
  if (unexpected.length > MAX_PRINTED) console.log(`… and ${unexpected.length - MAX_PRINTED} more`);
  if (unexpected.length > 0) {
    const perFile = Map.groupBy(unexpected, ({ file }) => file);
    const counts = [...perFile].sort((a, b) => b[1].length - a[1].length);
    console.log(
      `Failures by file: ${counts.map(([file, all]) => `${file} ${all.length}`).join(", ")}`,
    );
  }
  for (const { file, spec } of fixed) {
    console.log(`PASSES NOW [${device}] ${file}: ${spec} (take it out of expected_failures.json)`);
  }
  for (const entry of stale) {
    console.log(`STALE [${device}] no spec matches ${JSON.stringify(entry)}`);
  }
  if (propose) {
    const entries = unexpected.map(({ file, spec }) => ({ file, spec, device, reason: "" }));
    console.log(JSON.stringify(entries, null, 2));
  }
}

async function main(args: readonly string[]): Promise<number> {
  const options = readOptions(args);
  const found = await findSuite(options.file);
  const isBackend = options.subject === "backend";
  const suite = isBackend
    ? { ...found, files: found.files.filter(({ name }) => OF_KERNELS.test(name)) }
    : found;
  const subject = await loadSubject(options.subject);
  const Tensor = subject.api.Tensor as { prototype: object };
  const missingMethods = new Set(suite.methods.filter((name) => !(name in Tensor.prototype)));
  const files = await scanSuite(suite, { api: subject.api, missingMethods });
  if (options.list) {
    printList(files, suite.excluded);
    return 0;
  }
  const isWeft = options.subject === "weft";
  const entries = options.subject === "tfjs" ? [] : await readExpectations(EXPECTATIONS);
  const skippedInFiles = files
    .filter(({ source }) => source === null)
    .reduce((sum, { specs }) => sum + specs, 0);
  const total = { passed: 0, failed: 0, known: 0, skipped: 0 };
  let good = true;
  const folder = await Deno.makeTempDir({ prefix: "weft-conformance-" });
  try {
    const bundle = await bundleSuite(suite, files, folder);
    for (const device of options.devices) {
      const started = performance.now();
      const request = { subject: options.subject, device, bundle: bundle.path, grep: options.grep };
      const results = await runOnDevice(request);
      const seconds = ((performance.now() - started) / 1000).toFixed(1);
      const judged = judge(results, entries, device);
      // What Weft's own functions differ in, TensorFlow.js's may have right before they call our kernels.
      const verdict = isWeft ? judged : { ...judged, fixed: [] };
      if (options.verbose) {
        for (const { file, spec, status } of results) console.log(`${status} ${file}: ${spec}`);
      }
      // A partial run cannot tell a stale entry from one it did not ask for.
      const isWhole = isWeft && options.file === "" && options.grep === "";
      printVerdict(device, isWhole ? verdict : { ...verdict, stale: [] }, options.propose);
      printMissing(files, results);
      const count = (status: string) => results.filter((result) => result.status === status).length;
      const [passed, failed] = [count("passed"), count("failed")];
      const skipped = count("skipped") + skippedInFiles;
      const isRun = (result: SpecResult) => result.status !== "skipped";
      const filesRun = new Set(results.filter(isRun).map(({ file }) => file)).size;
      total.passed += passed;
      total.failed += verdict.unexpected.length;
      total.known += verdict.expected.length;
      total.skipped += skipped;
      good &&= verdict.unexpected.length === 0 && verdict.fixed.length === 0 && passed > 0 &&
        !(isWhole && verdict.stale.length > 0);
      console.log(
        `${subject.name} on ${device}: ${passed} passed, ${failed} failed ` +
          `(${verdict.expected.length} of them expected), ${skipped} skipped ` +
          `(${files.length - filesRun} of ${files.length} files whole), ${seconds} s`,
      );
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  console.log(
    `${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped, ` +
      `${total.known} known failures`,
  );
  if (isWeft && options.file === "" && options.grep === "") good = await compareSnippets() && good;
  return good ? 0 : 1;
}

if (import.meta.main) await runTask(import.meta.url, main);
