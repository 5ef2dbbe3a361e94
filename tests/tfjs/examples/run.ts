/**
 * Child process of tests/tfjs/examples/main.ts: runs a bundled example in a page made of its HTML, and prints what it told.
 */
import { toFileUrl } from "../../../tools/paths.ts";
import { exists } from "../../../tools/files.ts";
import { makePage } from "./surroundings.ts";

/** The mark of the line with the result. */
export const TOLD = "\u0001told ";

async function main([union, bundle, page, device]: string[]): Promise<void> {
  const { tf } = await import(toFileUrl(union).href);
  await tf.setBackend(device);
  await makePage(exists(page) ? await Deno.readTextFile(page) : "<html><body></body></html>");
  // Charts and status lines that an example cannot draw outside of a page are none of its computing.
  globalThis.addEventListener("unhandledrejection", (event) => event.preventDefault());
  const { run } = await import(toFileUrl(bundle).href);
  console.log(TOLD + JSON.stringify(await run(tf)));
}

if (import.meta.main) {
  await main(Deno.args).catch((error) => {
    console.error(error);
    Deno.exit(1);
  });
  Deno.exit(0);
}
