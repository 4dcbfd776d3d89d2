/** Events that the store refused are retried at the next start; without room for them, they stay and block nothing. */
import { join } from 'node:path'
import { memoryStore, type MessagingWebhooksError } from 'messaging-webhooks'
import { expect, onTestFinished, test } from 'vitest'
import { openSpool } from '../../src/inbox/spool/spool.ts'
import { sample } from '../../src/store-conformance/samples.ts'
import { inboxOver } from '../support/inbox.ts'
import { ownFolder } from '../support/own-folder.ts'

/** The two spools of a receiver. */
async function spoolsIn(options: { readonly maxBytes?: number } = {}) {
  const folder = ownFolder()
  const errors: MessagingWebhooksError[] = []
  const report = (error: MessagingWebhooksError): void => void errors.push(error)
  const aside = await openSpool({ folder: join(folder, 'aside'), report, reserveBytes: 0 })
  const outage = await openSpool({ folder, report, reserveBytes: 0, ...options })
  return { errors, report, aside, outage }
}

test('reports a spool without room for refused events, and the inbox opens and accepts', async () => {
  const { errors, report, aside, outage } = await spoolsIn({ maxBytes: 10 })
  await aside.append([sample({ message: 'refused' })])
  let opened = 0
  const inbox = inboxOver(memoryStore(), {
    report,
    openSpools: () => {
      opened += 1
      return Promise.resolve({ outage, aside })
    },
  })
  onTestFinished(inbox.close)
  await inbox.open()
  expect(await inbox.admit(sample())).toBe('new')
  expect(opened).toBe(1)
  expect(errors.map(({ code }) => code)).toEqual(['spool_full'])
  // For the next start.
  expect(aside.size).toBe(1)
})
