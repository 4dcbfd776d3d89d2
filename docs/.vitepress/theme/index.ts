/** VitePress's own theme, made legible to everybody. */
import DefaultTheme from 'vitepress/theme'
import './legible.css'

// VitePress loads a theme by its default export.
export default DefaultTheme
