/**
 * Builds the drop-in. `bun plugin/build.ts` writes `plugin/opencode-aep.js`; with `--check` it only compares and
 * scans, and exits 1 saying what to run. The scan holds the file to what every host has: one export, no import,
 * web globals, and of the process only its environment and arguments. Not part of the drop-in; tests import it.
 */
import { SyntaxKind } from "typescript/unstable/ast"
import { createScanner } from "typescript/unstable/ast/scanner"
import manifest from "../package.json"

/** The generated file, committed. */
export const DROP_IN = new URL("./opencode-aep.js", import.meta.url).pathname

/** The command that makes the file anew. */
export const BUILD_COMMAND = "bun plugin/build.ts"

const EXPORT = "OpencodeAep"
const ENTRY = new URL("./src/entry.ts", import.meta.url).pathname
const ROOT = new URL("..", import.meta.url).pathname

const BANNER = `/**
 * opencode-aep ${manifest.version}: the drop-in plugin for OpenCode 1.x and Kilo.
 *
 * Copy this one file into a \`plugin/\` folder of the agent. It forwards what the agent does to the opencode-aep
 * service on this machine, and answers a prompt or stops a run when the service proves that you said so. It prints nothing
 * and never makes the agent wait, but for one case: where OpenCode 1.0 asks for a permission and somebody is connected who
 * can answer, it waits for them.
 *
 * Generated; do not edit. Sources, with all comments: plugin/src. Made by: ${BUILD_COMMAND}
 * Licence: ${manifest.license}
 */
`

/** Names of the language and the web that the drop-in may use beside its own. */
const GLOBALS = new Set([
  ...["globalThis", "undefined", "Object", "Array", "Number", "Map", "Set", "WeakMap", "Symbol", "Promise"],
  ...["Math", "Date", "JSON", "Reflect", "Uint8Array", "ArrayBuffer", "RangeError", "Error"],
  ...["TypeError", "encodeURIComponent"],
  ...[
    "fetch",
    "AbortController",
    "AbortSignal",
    "URL",
    "TextEncoder",
    "TextDecoder",
    "crypto",
    "setTimeout",
    "clearTimeout",
  ],
])

/** Members of the process that may be read, always through `globalThis.process?.`. */
const PROCESS_READS = ["env", "argv"]

/** Bundles the sources; the text of the drop-in, banner included. Throws what the bundler reports. */
export async function bundleDropIn(): Promise<string> {
  return `${BANNER}${await bundle(false)}`
}

/**
 * What is wrong with a drop-in, one sentence each; none when it is fit to travel. `shortNames` is the same bundle
 * with every name of its own shortened, which leaves only foreign names long.
 */
export function scanDropIn(text: string, shortNames: string): string[] {
  const faults: string[] = []
  const { exports, imports } = new Bun.Transpiler({ loader: "js" }).scan(text)
  if (exports.length !== 1 || exports[0] !== EXPORT)
    faults.push(`exports ${exports}, must be ${EXPORT} alone`)
  for (const { path } of imports) faults.push(`imports ${path}`)
  for (const fault of new Set([...scanProcess(tokenize(text)), ...scanNames(tokenize(shortNames))])) {
    faults.push(fault)
  }
  return faults
}

/** The sources bundled with shortened names, for `scanDropIn`. */
export function bundleShortNames(): Promise<string> {
  return bundle(true)
}

async function bundle(identifiers: boolean): Promise<string> {
  const built = await Bun.build({
    entrypoints: [ENTRY],
    root: ROOT,
    format: "esm",
    target: "browser",
    minify: { identifiers, whitespace: false, syntax: false },
    define: { __PLUGIN_VERSION__: JSON.stringify(manifest.version) },
  })
  const [output] = built.outputs
  if (output === undefined) throw new Error("the bundler wrote nothing")
  // The bundler names files relative to the folder it is started in; the text must not depend on that.
  return (await output.text()).replace(/^\/\/ .*?(plugin\/src\/[\w-]+\.ts)$/gm, "// $1")
}

interface Token {
  kind: SyntaxKind
  text: string
}

/** Tokens without comments; regular expressions and templates as the language reads them. */
function tokenize(text: string): Token[] {
  const scanner = createScanner(true)
  scanner.setText(text)
  const tokens: Token[] = []
  const templates: number[] = []
  let braces = 0
  for (;;) {
    let kind = scanner.scan()
    if (kind === SyntaxKind.EndOfFile) return tokens
    if (kind === SyntaxKind.SlashToken && !endsOperand(tokens.at(-1))) kind = scanner.reScanSlashToken()
    if (kind === SyntaxKind.CloseBraceToken && templates.at(-1) === braces) {
      kind = scanner.reScanTemplateToken(false)
      if (kind === SyntaxKind.TemplateTail) templates.pop()
    } else if (kind === SyntaxKind.OpenBraceToken) braces += 1
    else if (kind === SyntaxKind.CloseBraceToken) braces -= 1
    else if (kind === SyntaxKind.TemplateHead) templates.push(braces)
    tokens.push({ kind, text: scanner.getTokenText() })
  }
}

function endsOperand(token: Token | undefined): boolean {
  if (token === undefined) return false
  const { kind } = token
  if (kind === SyntaxKind.Identifier || kind === SyntaxKind.NumericLiteral) return true
  return kind === SyntaxKind.CloseParenToken || kind === SyntaxKind.CloseBracketToken
}

function scanProcess(tokens: Token[]): string[] {
  const faults: string[] = []
  for (const [index, token] of tokens.entries()) {
    if (token.text !== "process") continue
    const around = tokens.slice(Math.max(0, index - 2), index + 3).map((near) => near.text)
    if (!PROCESS_READS.some((member) => around.join("") === `globalThis.process?.${member}`)) {
      faults.push(`uses ${around.join("")}`)
    }
  }
  return faults
}

/** Kinds of token that name something; some names of Node are keywords to this scanner. */
const NAMES = new Set([
  ...[SyntaxKind.Identifier, SyntaxKind.RequireKeyword, SyntaxKind.ModuleKeyword, SyntaxKind.GlobalKeyword],
])

function scanNames(tokens: Token[]): string[] {
  const faults: string[] = []
  for (const [index, token] of tokens.entries()) {
    if (token.kind === SyntaxKind.ImportKeyword) faults.push("uses import")
    if (!NAMES.has(token.kind) || token.text.length < 3) continue
    if (GLOBALS.has(token.text) || isMember(tokens, index)) continue
    if (token.text !== EXPORT || tokens[index - 1]?.text !== "as") faults.push(`uses ${token.text}`)
  }
  return faults
}

/** True for `x.name`, `{ name: x }`, `{ name() {} }`; in `a ? name : b` it is no member, so a `?` is looked for. */
function isMember(tokens: Token[], index: number): boolean {
  const before = tokens[index - 1]?.text
  const following = tokens[index + 1]?.text
  if (before === "." || before === "?.") return true
  if (following === ":") return before === "{" || before === ","
  if (following !== "(") return false
  let depth = 0
  for (let at = index + 1; at < tokens.length; at += 1) {
    if (tokens[at]?.text === "(") depth += 1
    if (tokens[at]?.text === ")") depth -= 1
    if (depth === 0) return tokens[at + 1]?.text === "{"
  }
  return false
}

/**
 * What is wrong with a committed drop-in, one sentence each: that it is not what the sources make (with the command
 * that helps), and whatever the scan finds in what they make.
 */
export async function judgeDropIn(committed: string): Promise<string[]> {
  const text = await bundleDropIn()
  const faults = scanDropIn(text, await bundleShortNames())
  return committed === text ? faults : [...faults, `is stale; run: ${BUILD_COMMAND}`]
}

/** `--check [file]` judges a file, the committed one unless named; without it the drop-in is written and judged. */
async function main(args: string[]): Promise<number> {
  const file = args[0] === "--check" ? (args[1] ?? DROP_IN) : DROP_IN
  if (args[0] !== "--check") await Bun.write(DROP_IN, await bundleDropIn())
  const found = Bun.file(file)
  const faults = await judgeDropIn((await found.exists()) ? await found.text() : "")
  await Bun.write(Bun.stderr, faults.map((fault) => `plugin/opencode-aep.js ${fault}\n`).join(""))
  return faults.length === 0 ? 0 : 1
}

if (import.meta.main) process.exitCode = await main(Bun.argv.slice(2))
