/** The files of shaders/ on naga: each is WGSL by itself, and so is what is made of it at the parameters that stand in it. */
import { assertEquals } from "@std/assert";
import { HAS_WEBGPU } from "../../devices.ts";
import { shaderTexts } from "./shader_texts.ts";

Deno.test({
  name: "every file of shaders/ is valid by itself, and at the parameters in it [webgpu]",
  ignore: !HAS_WEBGPU,
  async fn() {
    const device = await (await navigator.gpu.requestAdapter())!.requestDevice();
    const wrong: string[] = [];
    for (const { name, code } of shaderTexts()) {
      device.pushErrorScope("validation");
      device.createShaderModule({ code });
      const error = await device.popErrorScope();
      if (error) wrong.push(`${name}: ${error.message}\n${code}`);
    }
    device.destroy();
    assertEquals(wrong, []);
  },
});
