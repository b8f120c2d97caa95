/**
 * Where the AEP Python SDK lies, and the set-up step that brings it: `bun test/interop/fetch.ts`. A Python environment of
 * its own in the cache folder, with the versions of `sdk/requirements.txt`. Tests call `sdkPython`, which never installs.
 */
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { cacheFolder } from "../agent/fetch.ts"

const REQUIREMENTS = resolve(import.meta.dir, "sdk/requirements.txt")
const PIP_INSTALL = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
const PYTHON_REMEDY = "install Python 3.10 or newer with its venv module (Debian: python3 and python3-venv)"
const PACKAGES_REMEDY = "a package registry must be in reach, and Python 3.10 or newer"

const folder = () => join(dirname(cacheFolder()), "sdk")
const python = (home: string) => join(home, "bin/python")
/** What was installed, so that another list of versions is another environment. */
const mark = (home: string) => join(home, "installed.txt")

/** Absolute path of a Python that has the SDK. Throws with the remedy when there is none. */
export function sdkPython(): string {
  if (isThere()) return python(folder())
  throw new Error(
    "the AEP Python SDK is not installed: run `bun test/interop/fetch.ts` once with a package registry in reach",
  )
}

function isThere(): boolean {
  const home = folder()
  return existsSync(mark(home)) && readFileSync(mark(home), "utf8") === readFileSync(REQUIREMENTS, "utf8")
}

/** The fault with its remedy, when it could not be installed. */
function install(): string | undefined {
  if (isThere()) return undefined
  const found = Bun.which("python3")
  if (found === null) return `\`python3\` is not on the PATH: ${PYTHON_REMEDY}`
  const home = folder()
  rmSync(home, { recursive: true, force: true })
  // Python writes its own place into what it makes, so it cannot be moved when it is whole: the mark comes last.
  const steps = [
    { command: [found, "-m", "venv", home], remedy: PYTHON_REMEDY },
    { command: [python(home), ...PIP_INSTALL, "-r", REQUIREMENTS], remedy: PACKAGES_REMEDY },
  ]
  for (const { command, remedy } of steps) {
    const done = Bun.spawnSync(command, { stdout: "inherit", stderr: "pipe" })
    if (done.exitCode !== 0) return `\`${command.join(" ")}\` failed: ${remedy}\n${done.stderr}`
  }
  const draft = `${mark(home)}.draft`
  writeFileSync(draft, readFileSync(REQUIREMENTS))
  renameSync(draft, mark(home))
  return undefined
}

if (import.meta.main) {
  const fault = install()
  if (fault !== undefined) {
    process.stderr.write(`${fault}\n`)
    process.exitCode = 1
  } else process.stdout.write("the AEP Python SDK is installed\n")
}
