// Programs that are used beside three.js: streaming and read-back.

/**
 * Compiles and links; throws an Error that repeats what the graphics card says.
 * @param {WebGL2RenderingContext} gl @param {Object<string, number>} defines
 * @param {string[]|null} feedback varyings to capture
 */
export function makeProgram(gl, defines, vertex, fragment, feedback = null) {
  const head = Object.entries(defines).map(([name, value]) => `#define ${name} ${value}\n`);
  const program = gl.createProgram();
  const shaders = [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]].map(([type, text]) => {
    const shader = gl.createShader(type);
    gl.shaderSource(shader, `#version 300 es\n${head.join("")}${text}`);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
    return shader;
  });
  if (feedback) gl.transformFeedbackVaryings(program, feedback, gl.SEPARATE_ATTRIBS);
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) {
    const said = [gl.getProgramInfoLog(program), ...shaders.map((shader) => gl.getShaderInfoLog(shader))];
    throw new Error(`The graphics card refused a shader: ${said.join(" ").trim()}`);
  }
  shaders.forEach((shader) => gl.deleteShader(shader));
  return program;
}
