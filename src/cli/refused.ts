/** Refused requests on a disk, as lines: all of them, or those that name a message. */
import type { MessagingWebhooksError } from '../public/errors.ts'
import { isMeantRequest } from '../operations/erasure/forget.ts'
import type { KeptRequest } from '../quarantine/request.ts'
import { storedPages } from '../quarantine/stored.ts'
import { claimsIn, show } from '../quarantine/surface.ts'
import { inLocalFile } from './local-file.ts'
import { shown, type Colours, type Terminal } from './terminal.ts'

/** The requests in this folder that name the message, in order of arrival. */
export function refusedAbout(
  folder: string | undefined,
  message: { readonly messageId: string; readonly project: string | undefined },
  { note }: Terminal,
): Promise<readonly KeptRequest[]> {
  const report = (error: MessagingWebhooksError): void => note(shown(error.message))
  return inLocalFile({ folder, option: '--store', report }, [], async (file) => {
    const found: KeptRequest[] = []
    for await (const { requests } of storedPages(file))
      found.push(...requests.filter((request) => isMeantRequest(request, { by: 'message', ...message })))
    return found
  })
}

/** Id, time, class, code and what the body claims. */
export function refusedRows(requests: readonly KeptRequest[], { dim, red }: Colours): readonly (readonly string[])[] {
  return requests.map((request) => {
    const item = show(request, { reveal: false, secrets: [] })
    const { id, class: name, arrivedAt, kind, code } = item
    const { project, messageId } = claimsIn(item)
    const about = [kind, project, messageId].filter((part) => part !== undefined)
    return [id.slice(0, 12), dim(arrivedAt.toISOString()), name, red(code), about.map(shown).join('  ')]
  })
}
