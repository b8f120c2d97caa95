/** Every scenario, in the order the suite and the recorder take them. */
import type { ProcessScenario, Scenario, ServeScenario } from "./scenario.ts"
import { ABORTS } from "./scenarios/aborts.ts"
import { ASKS } from "./scenarios/asks.ts"
import { ENDS } from "./scenarios/ends.ts"
import { KINDS } from "./scenarios/kinds.ts"
import { PROCESSES } from "./scenarios/processes.ts"
import { PROVIDERS } from "./scenarios/providers.ts"
import { RULES } from "./scenarios/rules.ts"
import { SESSIONS } from "./scenarios/sessions.ts"
import { TURNS } from "./scenarios/turns.ts"

/** Driven over the API of a server. */
export const SERVE_SCENARIOS: readonly ServeScenario[] = [
  ...TURNS,
  ...ASKS,
  ...RULES,
  ...KINDS,
  ...ENDS,
  ...ABORTS,
  ...PROVIDERS,
  ...SESSIONS,
]

/** Processes of their own. */
export const PROCESS_SCENARIOS: readonly ProcessScenario[] = PROCESSES

/** All of them. */
export const SCENARIOS: readonly Scenario[] = [...SERVE_SCENARIOS, ...PROCESS_SCENARIOS]
