/** Parsing of arguments: each error says what was expected. */
import { describe, expect, test } from 'vitest'
import { CliError } from '../../src/cli/command.ts'
import { readFields, readRates } from '../../src/cli/fields.ts'
import { checkTarget } from '../../src/cli/addresses.ts'
import { faultRates, sendFaultRates } from '../../src/emulator/faults.ts'
import { shown } from '../../src/cli/terminal.ts'

function mistakeOf(work: () => unknown): {
  readonly exit: string
  readonly message: string
  readonly hint?: string | undefined
} {
  try {
    work()
  } catch (error) {
    if (error instanceof CliError) return error
    throw error
  }
  return expect.fail('It was accepted.')
}

describe('--set', () => {
  const like = { amount: 1, note: 'a', statuses: { status: 'sent' } }

  test('accepts text, numbers, JSON, and nested fields', () => {
    const settings = [
      'amount=2.5',
      'note=7',
      'statuses.status=read',
      'statuses.error=a=b',
      'list:=[1,{"a":null}]',
      'empty=',
    ]
    expect(readFields(settings, like)).toEqual({
      amount: 2.5,
      note: '7',
      statuses: { status: 'read', error: 'a=b' },
      list: [1, { a: null }],
      empty: '',
    })
  })

  test.each([
    ['amount', '--set amount has no “=”.'],
    ['=1', '--set =1 has no “=”.'],
    ['amount=much', '--set amount expects a number.'],
    ['amount=', '--set amount expects a number.'],
    ['amount:={', '--set amount:= is not JSON.'],
    ['__proto__.a=1', '--set __proto__.a: invalid field name.'],
    ['a..b=1', '--set a..b: invalid field name.'],
    ['\u001b[31m', '--set \\u001b[31m has no “=”.'],
  ])('%j', (setting, message) => {
    expect(mistakeOf(() => readFields([setting], like))).toMatchObject({ exit: 'usage', message })
    expect(Object.prototype).not.toHaveProperty('a')
  })
})

describe('--fault and --send-fault', () => {
  test('names, with a rate or always', () => {
    const rates = { duplicate: 1, drop: 0.25, delay: 0 }
    expect(readRates(faultRates, ['duplicate', 'drop=0.25', 'delay=0'], '--fault')).toEqual(rates)
    const sendRates = { noAnswer: 1, lateAnswer: 0.25 }
    expect(readRates(sendFaultRates, ['noAnswer', 'lateAnswer=0.25'], '--send-fault')).toEqual(sendRates)
  })

  test.each([
    ['duplicat', 'Invalid option for --fault: duplicat. Did you mean duplicate?'],
    ['drop=2', '--fault: drop is 2; expected a number from 0 to 1.'],
    ['drop=', '--fault: drop is NaN; expected a number from 0 to 1.'],
  ])('%s', (fault, message) => {
    const hint = expect.stringContaining('--list') as string
    expect(mistakeOf(() => readRates(faultRates, [fault], '--fault'))).toMatchObject({ exit: 'usage', message, hint })
  })
})

describe('--to', () => {
  test.each([
    'http://localhost:3000/a',
    'https://127.0.0.1',
    'http://127.9.9.9/',
    'http://[::1]:1/',
    'http://app.localhost/',
  ])('%s is this machine', (url) => {
    expect(() => checkTarget(url, false)).not.toThrow()
  })

  test.each([
    ['http://192.0.2.1/', '192.0.2.1'],
    ['https://user:hidden@example.com/x', 'example.com'],
    ['http://localhost.example.com/', 'localhost.example.com'],
    ['http://127.0.0.1.example.com/', '127.0.0.1.example.com'],
  ])('%s is another machine, and must be allowed', (url, hostname) => {
    expect(mistakeOf(() => checkTarget(url, false))).toMatchObject({
      message: `${hostname} is not this machine, and each callback contains the Auth Key.`,
      hint: 'Pass --allow-remote if it is your server.',
    })
    expect(() => checkTarget(url, true)).not.toThrow()
  })

  test.each(['ftp://user:hidden@localhost', 'localhost:3000', '', '/webhooks'])('%j is not a URL to post to', (url) => {
    expect(mistakeOf(() => checkTarget(url, true)).message).toBe('--to is not an http or https URL.')
  })
})

test('shows received text without control sequences', () => {
  expect(shown('a\u001b[2Jb\u0007\n\u009b\u202e\u2028é🎉\u{e0041}')).toBe(
    'a\\u001b[2Jb\\u0007\\u000a\\u009b\\u202e\\u2028é🎉\\udb40\\udc41',
  )
})
