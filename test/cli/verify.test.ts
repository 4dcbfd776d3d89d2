/** `verify`: names each reason without revealing a secret or a valid digest. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { signCallback } from 'messaging-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { EXIT_CODES } from '../../src/cli/command.ts'
import { checkSignature } from '../../src/cli/verify.ts'
import { runCli, SIGNING_SECRET } from './cli.ts'
import { ownFolder } from '../support/own-folder.ts'

const BODY = '{"project":"My Shop","messageId":"m-1","authKey":"key-of-the-body"}'
const NOW = 1_800_000_000
const AT = ['--at', String(NOW)]
const header = signCallback(BODY, SIGNING_SECRET, { timestamp: NOW - 12 })

describe('as a process', { timeout: 120_000 }, () => {
  test('accepts a valid proof', async () => {
    const args = ['verify', '--header', header, ...AT]
    const { code, stdout, stderr } = await runCli(args, { SIGNING_SECRET }, BODY)
    expect({ code, stderr }).toEqual({ code: EXIT_CODES.ok.code, stderr: '' })
    expect(stdout).toBe(
      [
        `✓ header t is ${NOW - 12}, with 1 v1 digest.`,
        '✓ age    The signature is 12 seconds old; 300 are allowed.',
        `✓ body   ${BODY.length} bytes of JSON.`,
        `✓ digest HMAC-SHA256 over “${NOW - 12}.” and the ${BODY.length} bytes of the body, keyed with the secret, matches the header.`,
        'The signature holds.',
        '',
      ].join('\n'),
    )
  })

  test('explains an invalid proof; from files, in JSON', async () => {
    const folder = ownFolder()
    writeFileSync(join(folder, 'secret'), `${SIGNING_SECRET}\n`)
    writeFileSync(join(folder, 'body'), `${BODY}\n`)
    const files = ['--signing-secret-file', join(folder, 'secret'), '--body', join(folder, 'body')]
    const { code, stdout, stderr } = await runCli(['verify', '--header', header, ...AT, ...files, '--json'])
    expect({ code, stderr }).toEqual({ code: EXIT_CODES.notProved.code, stderr: '' })
    expect(JSON.parse(stdout)).toMatchObject({
      holds: false,
      steps: [
        { step: 'header', holds: true },
        { step: 'age', holds: true },
        { step: 'body' },
        { step: 'digest', holds: false },
      ],
      causes: [expect.stringContaining('a trailing newline was added to the body')],
    })
  })
})

describe('the steps', () => {
  function check(given: Partial<Parameters<typeof checkSignature>[0]>) {
    return checkSignature({
      header,
      body: Buffer.from(BODY),
      secret: SIGNING_SECRET,
      nowMs: NOW * 1_000,
      toleranceSeconds: 300,
      ...given,
    })
  }

  test.each([
    ['301 seconds old', NOW + 289, 'The signature is 301 seconds old; 300 are allowed.'],
    ['301 seconds ahead', NOW - 313, 'The signature is 301 seconds in the future; 300 are allowed.'],
  ])('%s: only the age is wrong', (_, now, text) => {
    const { holds, steps, causes } = check({ nowMs: now * 1_000 })
    expect(holds).toBe(false)
    expect(steps.filter((step) => !step.holds)).toEqual([
      { step: 'age', holds: false, text: expect.stringContaining(text) as string },
    ])
    expect(causes).toEqual([])
  })

  test('accepts exactly 300 seconds, and a header with its name before it', () => {
    expect(check({ nowMs: (NOW + 288) * 1_000, header: `X-Service-Signature: ${header}\n` }).holds).toBe(true)
  })

  test.each([
    ['v1=aa', 'It does not have the form'],
    [`t=1,v1=${'A'.repeat(64)}`, 'It does not have the form'],
    ['a'.repeat(64), 'It does not have the form'],
    ['nonsense', 'It does not have the form'],
    [`t=1800000000000,v1=${'a'.repeat(64)}`, 'milliseconds'],
  ])('a header of another form: %s', (given, text) => {
    const { holds, steps, causes } = check({ header: given })
    expect({ holds, steps }).toMatchObject({ holds: false, steps: [{ step: 'header', holds: false }] })
    expect(steps[0]?.text).toContain(text)
    expect(causes.join()).toContain('Copy the whole value')
  })

  test.each([
    ['a body with a newline more', { body: `${BODY}\n` }, BODY, 'a trailing newline was added'],
    ['a body with a CRLF more', { body: `${BODY}\r\n` }, BODY, 'a trailing newline was added'],
    ['a body with a newline less', { body: BODY }, `${BODY}\n`, 'lost its trailing newline'],
    ['a body with CRLF for LF', { body: '{\r\n"a":1}' }, '{\n"a":1}', 'from LF to CRLF'],
    ['a body with a byte order mark more', { body: `\ufeff${BODY}` }, BODY, 'byte order mark'],
    ['a body serialised again', { body: '{ "a": 1,\n "b": [1, 2] }' }, '{"a":1,"b":[1,2]}', 'serialised again'],
    ['a formatted body', { body: '{"a":1}' }, '{\n  "a": 1\n}', 'serialised again'],
    ['a secret with a line end', { secret: `${SIGNING_SECRET}\n` }, BODY, 'white space at its start or end'],
    ['a secret in quotation marks', { secret: `"${SIGNING_SECRET}"` }, BODY, 'is in quotation marks. Corrected, it'],
    ['a secret with a spelled-out line end', { secret: `${SIGNING_SECRET}\\n` }, BODY, 'such as `\\n`'],
    ['a secret in Base64', { secret: btoa(`${SIGNING_SECRET}\n`) }, BODY, 'is in Base64'],
    ['the Auth Key in its place', { secret: 'key-of-the-body' }, BODY, 'is an Auth Key: the body carries it'],
  ])('detects %s', (_, { body = BODY, ...given }: { body?: string; secret?: string }, signed, cause) => {
    const signedHeader = signCallback(signed, SIGNING_SECRET, { timestamp: NOW })
    const { holds, causes } = check({ ...given, body: Buffer.from(body), header: signedHeader })
    expect(holds).toBe(false)
    expect(causes).toEqual([expect.stringContaining(cause)])
  })

  test('suggests another secret when no usual mistake explains the difference', () => {
    const { causes } = check({ secret: 'another' })
    expect(causes[0]).toContain('The secret is probably wrong')
    expect(check({ secret: 'undefined' }).causes[0]).toContain('is the text of a missing value')
  })

  test('prints neither a secret, nor a valid digest, nor the body', () => {
    const right = /v1=(\w+)/.exec(header)?.[1] ?? ''
    for (const given of [{ body: Buffer.from(`${BODY} `) }, { header: `t=${NOW - 12},v1=${'0'.repeat(64)}` }, {}]) {
      const said = JSON.stringify(check(given))
      expect(said).not.toContain(SIGNING_SECRET)
      expect(said).not.toContain(right)
      expect(said).not.toContain('key-of-the-body')
    }
  })
})
