/**
 * Sub-agents (truth rule 5): the parent's `task` call names the child's session in its part or result, and that is
 * where `delegation.subagent.*` comes from. The child's own `session.started.parent` is the lineage.
 */
import type { Scene } from "./scene.ts"
import type { OpenTool } from "./state.ts"

/** Says once per call that a sub-agent started. */
export function startChild(
  scene: Scene,
  open: OpenTool,
  child: string | undefined,
  agentType: string | undefined,
): void {
  if (child === undefined || open.child !== undefined) return
  scene.emit(
    {
      type: "delegation.subagent.started",
      subject: child,
      data: {
        child: { session: child, agent: scene.profile.agent },
        ...(agentType === undefined ? {} : { agent_type: agentType }),
      },
    },
    { cause: open.eventId },
  )
}

/** Says that it stopped, if it was said to have started. `status` is how the call ended. */
export function stopChild(scene: Scene, open: OpenTool, status: string): void {
  const { child, childEventId } = open
  if (child === undefined || childEventId === undefined) return
  scene.emit(
    {
      type: "delegation.subagent.stopped",
      subject: child,
      data: { child: { session: child, agent: scene.profile.agent }, status },
    },
    { cause: childEventId },
  )
}
