/** Which of an agent's platform packages this machine can run. Reads the processor once; installs nothing. */
import { readFileSync } from "node:fs"
import type { AgentVersion } from "./versions.ts"

const SYSTEMS: Record<string, string> = { linux: "linux", darwin: "darwin", win32: "windows" }

/** Name of the npm package with the binary for this machine, such as `opencode-linux-x64`. Throws on an unknown one. */
export function platformPackage(agent: AgentVersion): string {
  const system = SYSTEMS[process.platform]
  if (system === undefined || (process.arch !== "x64" && process.arch !== "arm64")) {
    throw new Error(
      `no ${agent.label} for ${process.platform}-${process.arch}; run the live suite on linux-x64`,
    )
  }
  const baseline = process.arch === "x64" && lacksAvx2() ? "-baseline" : ""
  return `${agent.packages}-${system}-${process.arch}${baseline}`
}

/** The ordinary x64 builds need AVX2; only Linux tells it without a tool, elsewhere it is taken for given. */
function lacksAvx2(): boolean {
  return process.platform === "linux" && !/\bavx2\b/.test(readFileSync("/proc/cpuinfo", "utf8"))
}
