/** `trigger` as a process, against a receiver and against misbehaving servers. */
import { EVENT_TYPES } from 'messaging-webhooks'
import { describe, expect, test } from 'vitest'
import { EXIT_CODES } from '../../src/cli/command.ts'
import { FAULT_NAMES } from '../../src/emulator/faults.ts'
import { TRIGGER_NAMES } from '../../src/emulator/payloads.ts'
import { freePort } from '../support/free-port.ts'
import { serve as serveReceiver } from '../support/hazard.ts'
import { serve } from '../support/receiving.ts'
import { jsonLines, KEYS, POLL, runCli, startCli } from './cli.ts'

describe('trigger', { timeout: 120_000 }, () => {
  test('sends one, signed, and shows the answer', async () => {
    const { url, receiver, dispatched, errors } = await serveReceiver()
    const set = ['--set', 'messageId=m-1', '--set', 'status=network_failure', '--set', 'extra.deep:=[1,null]']
    const { code, stdout, stderr } = await runCli(['trigger', 'message.failed', '--to', url, ...set], KEYS)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^204 {2}\d+ ms {2}http:\/\/127\.0\.0\.1:\d+\/\n$/)
    await receiver.drain({ deadlineMs: 60_000 })
    expect(dispatched).toMatchObject([
      {
        type: 'message.failed',
        messageId: 'm-1',
        proof: 'both',
        failure: { resend: true },
        payload: { extra: { deep: [1, null] } },
      },
    ])
    expect(errors).toEqual([])
  })

  test('sends what the emulator triggers, with its fields, by the signature alone', async () => {
    const { url, receiver, dispatched } = await serveReceiver({}, { kind: 'payment' })
    const args = ['trigger', 'payment.push.failed', '--to', url, '--set', 'amount=250', '--set', 'reason=cancelled']
    expect(await runCli(args, { SIGNING_SECRET: KEYS.SIGNING_SECRET })).toMatchObject({ code: 0, stderr: '' })
    await receiver.drain({ deadlineMs: 60_000 })
    const payload = { type: 'push', status: 'failed', amount: 250, reason: 'cancelled' }
    expect(dispatched).toMatchObject([{ type: 'payment', proof: 'signature', payload }])
  })

  test('sends many, with faults that a seed repeats, and prints a summary', async () => {
    const runs: object[] = []
    for (let run = 0; run < 2; run += 1) {
      const { url, receiver, dispatched, errors } = await serveReceiver()
      const args = ['trigger', 'message.delivered', '--to', url, '--count', '300', '--seed', 'seven', '--json']
      const rates = ['duplicate=0.2', 'staleSignature=0.1', 'drop=0.1', 'tamperedByte=0.1']
      const faults = rates.flatMap((rate) => ['--fault', rate])
      const { code, stdout, stderr } = await runCli([...args, ...faults], KEYS)
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      const lines = jsonLines(stdout)
      const { answers, faults: applied, p50Ms, p99Ms, ...summary } = lines.at(-1) ?? {}
      expect(summary).toMatchObject({ type: 'summary', refused: 0, wronglyAccepted: 0, unanswered: 0 })
      expect(lines).toHaveLength(Number(summary['requests']) + 1)
      expect(Number(p99Ms)).toBeGreaterThanOrEqual(Number(p50Ms))
      const counted = answers as Readonly<Record<string, number>>
      expect(counted['401']).toBe(errors.length)
      await receiver.drain({ deadlineMs: 60_000 })
      const { accepted, duplicates } = await receiver.stats()
      expect(counted['204']).toBe(accepted)
      expect(dispatched).toHaveLength(accepted - duplicates)
      expect(Object.keys(applied as object).sort()).toEqual(['drop', 'duplicate', 'staleSignature', 'tamperedByte'])
      runs.push({ answers, applied })
    }
    expect(runs[1]).toEqual(runs[0])
  })

  test('the summary for people', async () => {
    const { url } = await serveReceiver()
    const args = ['trigger', 'payment', '--to', url, '--count', '20', '--fault', 'duplicate']
    const { code, stdout, stderr } = await runCli(args, KEYS)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(
      /^requests {2}40\nanswers {3}204: 40\nfaults {4}duplicate: 20\ntime {6}p50 \d+ ms, p99 \d+ ms\n$/,
    )
  })

  test('keeps to its rate', async () => {
    const { url } = await serveReceiver()
    const startedAt = performance.now()
    expect((await runCli(['trigger', 'payment', '--to', url, '--count', '11', '--rate', '10'], KEYS)).code).toBe(0)
    // Not faster; how much slower depends on the machine.
    expect(performance.now() - startedAt).toBeGreaterThan(990)
  })

  test('Ctrl+C ends it early, with the counts so far', async () => {
    const { url } = await serveReceiver()
    const args = ['trigger', 'payment', '--to', url, '--count', '100000', '--rate', '20', '--json']
    const { child, printed, ended } = startCli(args, KEYS)
    await expect
      .poll(() => jsonLines(printed.stdout.slice(0, printed.stdout.lastIndexOf('\n') + 1)).length, POLL)
      .toBeGreaterThan(2)
    child.kill('SIGINT')
    const { code, stdout } = await ended
    expect(code).toBe(EXIT_CODES.interrupted.code)
    const lines = jsonLines(stdout)
    expect(lines.at(-1)).toMatchObject({ type: 'summary', requests: lines.length - 1 })
  })

  test.each([
    [401, [], /^401 /, 'compare SIGNING_SECRET and AUTH_KEY'],
    [404, [], /^404 /, 'nothing accepts POSTs at this path'],
    [405, [], /^405 /, 'nothing accepts POSTs at this path'],
    [413, [], /^413 /, 'Check for a proxy that limits'],
    [415, [], /^415 /, 'Check for a proxy that limits'],
    [500, [], /^500 /, 'messaging-webhooks doctor http://'],
    [503, [], /^503 /, 'usually the credentials function or the store'],
    [307, [], /^307 /, 'Register the target URL'],
    [204, ['--fault', 'tamperedByte'], /it should have been refused/, 'The handler there accepts forged callbacks'],
  ])('%i to %o is a failure, which names the expected answer and the next step', async (status, more, shown, next) => {
    let posts = 0
    const url = await serve((request, response) => {
      posts += 1
      request.resume().on('end', () => response.writeHead(status, { location: '/again' }).end())
    })
    const { code, stdout, stderr } = await runCli(['trigger', 'payment', '--to', url, ...more], KEYS)
    expect(code).toBe(EXIT_CODES.refused.code)
    expect(stdout).toMatch(shown)
    expect(stdout.split('\n')).toHaveLength(2)
    const expected = status === 204 ? 401 : 204
    expect(stderr).toMatch(new RegExp(`^unexpected: ${status}\\. Expected: ${expected}, because .*\\.\nNext: .*\n$`))
    expect(stderr).toContain(next)
    // It follows no redirect.
    expect(posts).toBe(1)
  })

  test('explains each kind of unexpected answer once, also with JSON', async () => {
    let posts = 0
    const url = await serve((request, response) => {
      posts += 1
      const status = posts % 2 === 0 ? 404 : 401
      request.resume().on('end', () => response.writeHead(status).end())
    })
    const { stdout, stderr } = await runCli(['trigger', 'payment', '--to', url, '--count', '10', '--json'], KEYS)
    expect(jsonLines(stdout)).toHaveLength(11)
    expect(stderr.match(/^unexpected: \d+, 5 times\. Expected: 204/gm)).toHaveLength(2)
    expect(stderr.match(/^Next: /gm)).toHaveLength(2)
  })

  test('no answer', async () => {
    const url = `http://127.0.0.1:${await freePort()}/`
    const { code, stdout, stderr } = await runCli(['trigger', 'payment', '--to', url], KEYS)
    expect(code).toBe(EXIT_CODES.unanswered.code)
    expect(stdout).toMatch(/^no answer {2}/)
    expect(stderr).toBe(
      'unexpected: ECONNREFUSED. Expected: an answer.\n' +
        'Next: start the app, and compare the host and port of --to with those that it listens on.\n',
    )
    const silent = await serve(() => {})
    const late = await runCli(['trigger', 'payment', '--to', silent, '--timeout', '50'], KEYS)
    expect(late.code).toBe(EXIT_CODES.unanswered.code)
    expect(late.stderr).toContain('or raise --timeout.')
  })

  test('--list prints every event and every fault', async () => {
    const { code, stdout, stderr } = await runCli(['trigger', '--list'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const names = stdout.split('\n').flatMap((line) => /^ {2}(\S+)/.exec(line)?.[1] ?? [])
    const ofNone = new Set<string>(['late', 'send.overdue', 'send.unknown'])
    const types = EVENT_TYPES.filter((type) => !ofNone.has(type))
    expect(names.toSorted()).toEqual([...new Set([...types, ...TRIGGER_NAMES]), ...FAULT_NAMES].toSorted())
    expect(stdout).toMatch(/^ {2}payment\.paybill\.failed +payment +A paybill transaction fails\.$/m)
    for (const line of stdout.split('\n').filter((text) => text.startsWith('  '))) expect(line).toMatch(/ [A-Z].*\.$/)
    const lines = jsonLines((await runCli(['trigger', '--list', '--json'])).stdout)
    expect(lines.map(({ event, fault }) => event ?? fault)).toEqual(names)
  })
})
