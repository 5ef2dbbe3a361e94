/** The files of shaders/ on Tint, Chromium's compiler: what tests/devices/webgpu/shaders_test.ts asks of naga. */
import { assertEquals } from "@std/assert";
import { findChromium, runPage } from "../../tools/browser.ts";
import { shaderTexts } from "../devices/webgpu/shader_texts.ts";

const chromium = await findChromium();

const PAGE = `<!doctype html><script type="module">
const send = (message) => fetch("/message", { method: "POST", body: JSON.stringify(message) });
const device = await (await navigator.gpu?.requestAdapter())?.requestDevice();
if (!device) await send("There is no adapter");
else {
  for (const { name, code } of await (await fetch("/shaders.json")).json()) {
    const { messages } = await device.createShaderModule({ code }).getCompilationInfo();
    for (const { type, lineNum, message } of messages) {
      if (type === "error") await send(name + ":" + lineNum + ": " + message);
    }
  }
}
await send(null);
</script>`;

Deno.test({
  name: "every file of shaders/ is valid on Tint",
  ignore: chromium === null && Deno.env.get("WEFT_REQUIRE_WEBGPU") !== "1",
  async fn() {
    if (chromium === null) throw new Error("Cannot find Chromium: WEFT_REQUIRE_WEBGPU wants it");
    const messages: unknown[] = [];
    const files = new Map([
      ["/", { type: "text/html", body: PAGE }],
      ["/shaders.json", { type: "application/json", body: JSON.stringify(shaderTexts()) }],
    ]);
    await runPage(chromium, { files, isolated: false }, (message) => messages.push(message));
    assertEquals(messages, []);
  },
});
