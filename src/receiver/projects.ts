/** The project of a message, and the keys of its events and its send. */
import { messageKey, sendKey } from '../messages/order.ts'
import { MessagingWebhooksError } from '../public/errors.ts'
import type { CredentialsSource } from '../verify/credentials.ts'

export interface ProjectKeys {
  /** Throws `project_required` if `project` is omitted and there are several. */
  keyOf(messageId: string, project: string | undefined): string
  /** A send to a list has a key for each number. */
  sendKeyOf(reference: string, project: string | undefined, number?: string): string
  /** The project, which may be omitted if there is a single named one. */
  named(project: string | undefined): string | undefined
  /** Names seen so far, at most 1,000: a lookup without a project tries each of them. */
  all(): readonly string[]
}

const MOST_NAMED = 1_000

export function createProjectKeys(
  { byProject, onlyProject }: Pick<CredentialsSource, 'byProject' | 'onlyProject'>,
  configured: readonly string[],
): ProjectKeys {
  const seen = new Set(configured)

  function scopeOf(project: string | undefined): string | undefined {
    if (!byProject) return undefined
    const named = project ?? onlyProject
    if (named === undefined) throw new MessagingWebhooksError('project_required')
    if (seen.size < MOST_NAMED) seen.add(named)
    return named
  }

  return {
    keyOf: (messageId, project) => messageKey(scopeOf(project), messageId),
    sendKeyOf: (reference, project, number) => sendKey(scopeOf(project), reference, number),
    named: (project) => project ?? onlyProject,
    all: () => [...seen],
  }
}
