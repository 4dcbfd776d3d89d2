/** What the store refused comes back at a start; where there is no room for it then, it stays and stops nothing. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { memoryStore, type MessagingWebhooksError } from 'messaging-webhooks'
import { expect, onTestFinished, test } from 'vitest'
import { steadyClock, systemClock } from '../../src/clock.ts'
import { createInbox } from '../../src/inbox/inbox.ts'
import { openSpool } from '../../src/inbox/spool/spool.ts'
import { sample } from '../../src/store-conformance/samples.ts'
import { admitOnly, quietAbsence } from '../support/inbox.ts'

test('a spool without room for what was set aside is reported, and the inbox opens and takes', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'aside-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const errors: MessagingWebhooksError[] = []
  const report = (error: MessagingWebhooksError): void => void errors.push(error)
  const aside = await openSpool({ folder: join(folder, 'aside'), report, reserveBytes: 0 })
  await aside.append([sample({ message: 'refused' })])
  const outage = await openSpool({ folder, report, maxBytes: 10, reserveBytes: 0 })
  let opened = 0
  const inbox = createInbox(memoryStore(), {
    clock: steadyClock(systemClock()),
    storeTimeoutMs: 5_000,
    gapTimeoutMs: 1_000,
    report,
    absence: quietAbsence(report),
    onWork: () => {},
    claims: false,
    admitBatch: admitOnly,
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
