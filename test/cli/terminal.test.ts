/** Colours, widths and the progress bar on a terminal, in a pipe, and by the environment. */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { WriteStream } from 'node:tty'
import { stripVTControlCharacters } from 'node:util'
import { describe, expect, test } from 'vitest'
import { createActivityLine, printListening } from '../../src/cli/emulate.ts'
import { createTerminal } from '../../src/cli/terminal.ts'
import { startProgress } from '../../src/cli/trigger.ts'
import { receiving } from '../support/receiving.ts'
import { MAIN, runCli, SIGNING_SECRET, startProcess } from './cli.ts'
import { titleWith } from '../support/skipping.ts'

const ESCAPE = '\u001b['
const VERIFY = ['verify', '--header', `t=1,v1=${'0'.repeat(64)}`]

/** A stream that poses as a terminal of the given width, and records what is written to it. */
function fakeTty(columns: number) {
  const through = new PassThrough()
  let written = ''
  through.setEncoding('utf8').on('data', (text: string) => void (written += text))
  // As much of a terminal as is asked for, without a terminal to open.
  const stream: WriteStream = Object.setPrototypeOf(
    Object.assign(through, { isTTY: true, columns, rows: 24 }),
    Object.create(PassThrough.prototype, Object.getOwnPropertyDescriptors(WriteStream.prototype)) as object,
  ) as WriteStream
  return { stream, written: () => written }
}

describe('colours', { timeout: 120_000 }, () => {
  test.each([
    ['a pipe has none', {}, false],
    ['even where CI is set', { CI: 'true' }, false],
    ['unless they are forced', { FORCE_COLOR: '1' }, true],
    ['NO_COLOR outweighs that', { FORCE_COLOR: '1', NO_COLOR: '1' }, false],
    ['an empty NO_COLOR says nothing', { FORCE_COLOR: '1', NO_COLOR: '' }, true],
    ['FORCE_COLOR=0 forces none', { FORCE_COLOR: '0' }, false],
  ])('%s', async (_, env, coloured) => {
    const { stdout } = await runCli(VERIFY, { SIGNING_SECRET, ...env }, '{}')
    expect(stdout.includes(ESCAPE)).toBe(coloured)
  })
})

describe('widths', () => {
  test('cuts a row of a list to the terminal, unless it must stay whole', () => {
    const { stream, written } = fakeTty(30)
    const terminal = createTerminal({ out: stream, err: stream })
    terminal.print('x'.repeat(30), 'cut')
    terminal.print(`${terminal.colours.red('é')}${'y'.repeat(40)}`, 'cut')
    terminal.print('z z '.repeat(10), 'whole')
    expect(written().split('\n').slice(0, 3)).toEqual(['x'.repeat(30), `é${'y'.repeat(28)}…`, 'z z '.repeat(10)])
  })

  test('wraps any other line between words, and keeps a URL in one piece', () => {
    const { stream, written } = fakeTty(30)
    const terminal = createTerminal({ out: stream, err: stream })
    const url = 'http://127.0.0.1:3000/webhooks/status'
    terminal.print('exactly thirty columns of text')
    terminal.print(`07:05:39.123  ${terminal.colours.red('message.failed')}  m-1  do not send again  ${url}`)
    terminal.print('short')
    expect(stripVTControlCharacters(written()).split('\n')).toEqual([
      'exactly thirty columns of text',
      '07:05:39.123',
      '    message.failed  m-1  do',
      '    not send again',
      `    ${url}`,
      'short',
      '',
    ])
  })

  test('keeps the emulator’s URLs whole, so that they can be copied', () => {
    const { stream, written } = fakeTty(60)
    const terminal = createTerminal({ out: stream, err: stream })
    const status = 'http://127.0.0.1:3000/a/path/that/is/longer/than/the/terminal/webhooks/status'
    const project = { name: 'My Shop', balance: 1, callbackUrls: { status }, phoneNumber: '1' }
    const keys = { apiKey: 'a', authKey: 'b', signingSecret: 'c' }
    const shop = { ...project, shortcode: '1', volumeLimit: null, sentToday: 0, enforceHttps: false, keys }
    const channels = { sms: 'sms', 'chat-app': 'a', premium: 'b', 'premium-subscription': 'c', airtime: 'd' }
    printListening('http://127.0.0.1:4000', [shop], { channels: () => channels }, terminal)
    const printed = stripVTControlCharacters(written())
    expect(printed).toContain(' http://127.0.0.1:4000/api/v1/messaging,')
    expect(printed).toContain(' http://127.0.0.1:4000/control\n')
    expect(printed).toContain(` ${status}\n`)
    const payload = { project: 'My Shop', messageId: '0b5d3a86-7c1e-4f0e-9a55-1a2b3c4d5e6f', status: 'success' }
    const delivery = {
      kind: 'status',
      project: 'My Shop',
      url: status,
      payload,
      sentAtMs: 0,
      tookMs: 3,
      faults: [],
    } as const
    const answered = { ...delivery, intact: true, sent: true, status: 204 }
    terminal.print(createActivityLine(terminal)({ type: 'delivery', delivery: answered }))
    expect(written().split(status)).toHaveLength(3)
  })

  test('does not wrap lines in a pipe', () => {
    const through = new PassThrough().setEncoding('utf8')
    const { stream } = fakeTty(30)
    createTerminal({ out: Object.assign(through, { isTTY: false }) as unknown as WriteStream, err: stream }).print(
      'x'.repeat(500),
    )
    expect(through.read()).toBe(`${'x'.repeat(500)}\n`)
  })
})

describe('the progress bar', () => {
  test('is drawn on a terminal, and removed at the end', async () => {
    const { stream, written } = fakeTty(80)
    const progress = startProgress(200, stream, true)
    progress.update(100)
    progress.update(200)
    progress.stop()
    stream.end()
    await once(stream, 'end')
    expect(written()).toContain('0 of 200')
    expect(written()).toContain('100 %  200 of 200')
    // The cursor comes back.
    expect(written().lastIndexOf('\u001b[?25h')).toBeGreaterThan(written().lastIndexOf('\u001b[?25l'))
  })

  test('is not drawn without a terminal', () => {
    const { stream, written } = fakeTty(80)
    const progress = startProgress(200, stream, false)
    progress.update(200)
    progress.stop()
    expect(written()).toBe('')
  })

  const hasScript = spawnSync('script', ['--version']).status === 0

  test.skipIf(!hasScript)(
    titleWith(hasScript ? undefined : 'no program `script`', 'of the process itself, on a pseudo-terminal'),
    { timeout: 120_000 },
    async () => {
      const { url } = await receiving({ credentials: { signingSecret: SIGNING_SECRET } })
      const command = `'${process.execPath}' '${MAIN}' trigger payment --to ${url} --count 50 --rate 100`
      const { ended } = startProcess('script', ['-qec', command, '/dev/null'], { SIGNING_SECRET, TERM: 'xterm' })
      const { code, stdout } = await ended
      expect(code).toBe(0)
      expect(stdout).toContain('of 50')
      expect(stdout).toContain('█')
      expect(stdout).toContain('answers')
      expect(stdout).toContain(`${ESCAPE}1m`)
    },
  )
})
