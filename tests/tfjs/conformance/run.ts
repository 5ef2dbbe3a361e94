// Child process of main.ts: loads one subject on one device, runs the bundle, prints one JSON line a spec.
//
// A process of its own per device, so that a crash of a graphics driver names the spec it happened in and costs the
// other device nothing. Lines that start with the marker are results; everything else is noise from the tests.

import { isRoundedSpec } from "./files.ts";
import { bootJasmine } from "./jasmine_util.ts";
import { toFileUrl } from "../../../tools/paths.ts";
import { HOST_KEY, RESULT_MARKER, type RunRequest } from "./protocol.ts";
import { loadSubject } from "./subject.ts";
import * as testUtil from "./test_util.ts";

async function main(request: RunRequest): Promise<void> {
  const { device, bundle, grep } = request;
  const subject = await loadSubject(request.subject);
  await subject.useDevice(device);
  const write = Deno.stdout.writeSync.bind(Deno.stdout);
  const encoder = new TextEncoder();
  const harness = await bootJasmine(
    subject,
    device,
    (spec) => spec.includes(grep),
    (result) => {
      if (result.status === "started") {
        testUtil.expectFrom(device, isRoundedSpec(result.file, result.spec));
      }
      write(encoder.encode(`\n${RESULT_MARKER}${JSON.stringify(result)}\n`));
    },
  );
  Object.assign(globalThis, {
    // Tests that want a browser look for its functions there.
    window: globalThis,
    [HOST_KEY]: {
      subject: subject.api,
      modules: subject.modules,
      jasmineUtil: harness.jasmineUtil,
      testUtil,
      enterFile: harness.enterFile,
    },
  });
  await import(toFileUrl(bundle).href);
  await harness.execute();
}

if (import.meta.main) {
  await main(JSON.parse(Deno.args[0]!));
  // Jasmine and GPU devices may keep the event loop alive.
  Deno.exit(0);
}
