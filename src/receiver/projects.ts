/** The project of a message, and the keys of its events and its send. */
import { messageKey, sendKey } from '../messages/order.ts'
import { MessagingWebhooksError } from '../public/errors.ts'
import type { CredentialsSource } from '../verify/credentials.ts'

export type ProjectKeys = ReturnType<typeof createProjectKeys>

const MOST_NAMED = 1_000

export function createProjectKeys(
  { byProject, onlyProject }: Pick<CredentialsSource, 'byProject' | 'onlyProject'>,
  configured: readonly string[],
) {
  const seen = new Set(configured)

  /** Throws `project_required` if `project` is omitted and there are several. */
  function scopeOf(project: string | undefined): string | undefined {
    if (!byProject) return undefined
    const named = project ?? onlyProject
    if (named === undefined) throw new MessagingWebhooksError('project_required')
    if (seen.size < MOST_NAMED) seen.add(named)
    return named
  }

  return {
    keyOf: (messageId: string, project: string | undefined): string => messageKey(scopeOf(project), messageId),
    /** A send to a list has a key for each number. */
    sendKeyOf: (reference: string, project: string | undefined, number?: string): string =>
      sendKey(scopeOf(project), reference, number),
    /** The project, which may be omitted if there is a single named one. */
    named: (project: string | undefined): string | undefined => project ?? onlyProject,
    /** Names seen so far, at most 1,000: a lookup without a project tries each of them. */
    all: (): readonly string[] => [...seen],
  }
}
