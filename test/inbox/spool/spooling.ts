/** Spools in their own folders, and functions for tests to inspect them. */
import { randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { MessagingWebhooksError } from 'messaging-webhooks'
import { onTestFinished } from 'vitest'
import type { NewEvent } from '../../../src/messages/event-record.ts'
import { openSpool, type Spool, type SpoolOptions } from '../../../src/inbox/spool/spool.ts'
import { sample } from '../../../src/store-conformance/samples.ts'
import { ownFolder } from '../../support/own-folder.ts'

/** Opens a spool, without a reserve unless the test is about it, and closes it after the test. */
export async function spooling(options: Partial<SpoolOptions> = {}) {
  const errors: MessagingWebhooksError[] = []
  const folder = options.folder ?? ownFolder()
  const spool = await openSpool({ reserveBytes: 0, report: (error) => void errors.push(error), ...options, folder })
  onTestFinished(() => spool.close())
  return { spool, errors, folder }
}

/** What a crash at this moment would leave: a copy, because this process would still hold a lock. */
export async function crashed(folder: string): Promise<string> {
  const copy = ownFolder()
  await cp(folder, copy, { recursive: true, filter: (path) => basename(path) !== 'lock' })
  return copy
}

export function event(name: string, raw: Buffer = Buffer.from(`{"name":"${name}"}`)): NewEvent {
  return sample({ message: name, name, raw })
}

export function events(prefix: string, count: number): readonly NewEvent[] {
  return Array.from({ length: count }, (_, index) => event(`${prefix}${index + 1}`))
}

/** Records of this many bytes, all different. */
export function largeEvent(name: string, bytes: number): NewEvent {
  return event(name, randomBytes(bytes))
}

export function nameOf({ record }: NewEvent): string {
  return record.report?.status ?? ''
}

export async function emptyAll(spool: Spool): Promise<readonly NewEvent[]> {
  const drained: NewEvent[] = []
  await spool.empty(async (batch) => void drained.push(...batch))
  return drained
}

export async function emptiedNames(spool: Spool): Promise<readonly string[]> {
  return (await emptyAll(spool)).map(nameOf)
}

/** The segments of all processes, in order. */
export function segmentFiles(folder: string): readonly string[] {
  return filesIn(folder).filter((path) => path.endsWith('.segment'))
}

export function filesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted()
}
