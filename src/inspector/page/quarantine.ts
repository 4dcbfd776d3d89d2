/** What was refused for want of a proof: why, and whether it can be proved by now. */
import type { QuarantineList, ReverifyResult } from '../shapes.ts'
import { askQuarantine, reverify } from './asking.ts'
import { h, type Child, type Tree } from './elements.ts'
import { bodyAsItCame } from './event.ts'
import { badge, CLASSES, prose, quiet, table } from './parts.ts'
import { href } from './route.ts'
import {
  aloneNote,
  asking,
  asNoAnswer,
  empty,
  heading,
  panel,
  problemBox,
  type Screen,
  type Surroundings,
} from './screen.ts'
import { bytes, count, cut, duration, several, time } from './words.ts'

type Kept = QuarantineList['items'][number]

const STALE_AFTER_MS = 2_000

export function quarantineScreen({ session, route, show, say, askFirst }: Surroundings): Screen {
  const name = route.query.get('class') ?? undefined
  const after = route.query.get('after') ?? undefined
  const asked = asking(() => askQuarantine({ class: name, after }), show)
  let offset = ''
  let dry: ReverifyResult | undefined
  let outcome: Child
  let isBusy = false

  async function run(dryRun: boolean): Promise<void> {
    isBusy = true
    outcome = undefined
    show()
    try {
      const result = await reverify({ dryRun, ...(offset === '' ? {} : { clockOffsetSeconds: Number(offset) }) })
      dry = dryRun ? result : undefined
      const text = sentence(result)
      outcome = h(
        'p',
        { key: 'outcome', class: `note ${result.admitted > 0 ? 'good' : 'warn'}` },
        text,
        dryRun && result.admitted === 0 && advice(),
      )
      say(text)
    } catch (error) {
      outcome = problemBox(asNoAnswer(error))
    }
    isBusy = false
    show()
    if (!dryRun) await asked.refresh()
  }

  function setOffset(value: string): void {
    offset = value
    dry = undefined
    outcome = undefined
    show()
  }

  function form(list: QuarantineList): Tree {
    const offsets = new Map<number, number>()
    for (const { offsetSeconds } of list.items)
      if (offsetSeconds !== undefined) offsets.set(offsetSeconds, (offsets.get(offsetSeconds) ?? 0) + 1)
    const measured = [...offsets].sort(([, a], [, b]) => b - a).slice(0, 4)
    return panel(
      'Verify again',
      h(
        'p',
        {},
        'With the credentials as they are now, each by the time at which it came. What is proved comes to your handlers as if it came now. A dry run says what would be admitted, and changes nothing.',
      ),
      h(
        'form',
        {
          class: 'tools',
          onsubmit: (event) => {
            event.preventDefault()
            void run(true)
          },
        },
        h('label', { for: 'offset' }, 'Your clock was ahead by (s)'),
        h('input', {
          id: 'offset',
          type: 'number',
          step: 1,
          placeholder: '0',
          value: offset,
          oninput: ({ target }) => target instanceof HTMLInputElement && setOffset(target.value),
        }),
        measured.map(([seconds, times]) =>
          h(
            'button',
            { key: `offset ${seconds}`, type: 'button', class: 'quiet', onclick: () => setOffset(String(seconds)) },
            `${seconds} s (measured ${several(times, 'time')})`,
          ),
        ),
        h('button', { key: 'dry', type: 'submit', disabled: isBusy }, 'Dry run'),
        dry !== undefined &&
          dry.admitted > 0 &&
          h(
            'button',
            {
              key: 'real',
              type: 'button',
              class: 'main',
              disabled: isBusy,
              onclick: () =>
                askFirst({
                  title: `Admit ${several(dry?.admitted ?? 0, 'callback')}?`,
                  text: [
                    'Your handlers get them, in the order of each message. They leave quarantine, and this cannot be undone.',
                  ],
                  yes: 'Admit',
                  isGrave: false,
                  onYes: () => void run(false),
                }),
            },
            `Admit ${count(dry.admitted)}`,
          ),
      ),
      outcome,
    )
  }

  function classes({ counts }: QuarantineList): Tree {
    return h(
      'nav',
      { class: 'choice', 'aria-label': 'Class' },
      h(
        'a',
        { class: 'button', href: href(['quarantine']), 'aria-current': name === undefined ? 'true' : undefined },
        'All',
      ),
      Object.entries(counts).map(([each, number]) =>
        h(
          'a',
          {
            key: each,
            class: 'button',
            href: href(['quarantine'], { class: each }),
            title: CLASSES[each]?.[1],
            'aria-current': name === each ? 'true' : undefined,
          },
          `${CLASSES[each]?.[0] ?? each} `,
          h('b', {}, count(number)),
        ),
      ),
    )
  }

  function list({ items, next }: QuarantineList): Child {
    if (items.length === 0)
      return empty(
        name === undefined ? 'Nothing is in quarantine.' : 'Nothing of this class is in quarantine.',
        'A request without a valid proof is answered 401 and kept here for a while, so that the right key can still prove it.',
      )
    return [
      table<Kept>({
        caption: 'Requests in quarantine, in order of arrival',
        rows: items,
        keyOf: ({ id }) => id,
        class: 'cards kept',
        columns: [
          { name: 'Came', class: 'when', cell: ({ arrivedAt }) => time(arrivedAt) },
          {
            name: 'Kind',
            class: 'what',
            cell: ({ kind, class: each }) => [
              kind ?? 'any',
              ' ',
              badge(CLASSES[each]?.[0] ?? each, 'calm', CLASSES[each]?.[1]),
            ],
          },
          { name: 'Why', class: 'wide', cell: whyOf },
        ],
      }),
      h(
        'nav',
        { class: 'pages', 'aria-label': 'Pages' },
        next !== undefined &&
          h('a', { class: 'button', href: href(['quarantine'], { class: name, after: next }) }, 'More »'),
      ),
    ]
  }

  return {
    title: 'Quarantine',
    refresh: asked.refresh,
    staleAfterMs: () => STALE_AFTER_MS,
    content() {
      return [
        heading('Quarantine'),
        session.storeAlone === true
          ? aloneNote()
          : asked.answered((value) => [
              session.may.write
                ? form(value)
                : h(
                    'p',
                    { class: 'quiet', key: 'may' },
                    'You may look, and not verify again: the app gives you no right to write.',
                  ),
              classes(value),
              h(
                'p',
                { class: 'quiet' },
                `${bytes(value.bytes)} in all.`,
                value.dropped > 0 && ` ${several(value.dropped, 'request')} had to go for want of room.`,
              ),
              list(value),
            ]),
      ]
    },
  }
}

function sentence({ dryRun, examined, admitted, stillUnproved }: ReverifyResult): string {
  const done = dryRun
    ? `${several(admitted, 'would be admitted', 'would be admitted')}, ${several(stillUnproved, 'would stay', 'would stay')}`
    : `${several(admitted, 'was', 'were')} admitted, ${several(stillUnproved, 'stays', 'stay')}`
  return `${several(examined, 'request')} verified again: ${done}.`
}

function advice(): Child {
  return ' Put the right Auth Key and signing secret in place first; where the clock was wrong, give what was measured.'
}

function whyOf({ code, why, offsetSeconds, bytes: size, payload, raw }: Kept): Child {
  return [
    h('code', {}, code),
    ' ',
    prose(why),
    offsetSeconds !== undefined &&
      h(
        'strong',
        {},
        ` Its time is ${duration(Math.abs(offsetSeconds) * 1_000)} ${offsetSeconds > 0 ? 'behind' : 'ahead of'} this clock.`,
      ),
    h(
      'details',
      {},
      h('summary', { 'data-item': true }, `The request, ${bytes(size)}`),
      payload === undefined
        ? quiet('Its body is no JSON object.')
        : h('pre', { tabindex: 0, 'aria-label': 'Payload' }, cut(payload)),
      raw && bodyAsItCame(raw),
    ),
  ]
}
