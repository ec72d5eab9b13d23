// Made of page/ by `make page`: e47ad909f7ca0a9c
"use strict";(()=>{var ht,M,Ys,ze,Zs,Ls,Bo,ut={},Qs=[],Fo=/acit|ex(?:s|g|n|p|$)|rph|grid|ows|mnc|ntw|ine[ch]|zoo|^ord|itera/i;function xe(e,t){for(var s in t)e[s]=t[s];return e}function en(e){var t=e.parentNode;t&&t.removeChild(e)}function o(e,t,s){var n,a,i,l={};for(i in t)i=="key"?n=t[i]:i=="ref"?a=t[i]:l[i]=t[i];if(arguments.length>2&&(l.children=arguments.length>3?ht.call(arguments,2):s),typeof e=="function"&&e.defaultProps!=null)for(i in e.defaultProps)l[i]===void 0&&(l[i]=e.defaultProps[i]);return ct(e,l,n,a,null)}function ct(e,t,s,n,a){var i={type:e,props:t,key:s,ref:n,__k:null,__:null,__b:0,__e:null,__d:void 0,__c:null,__h:null,constructor:void 0,__v:a??++Ys};return M.vnode!=null&&M.vnode(i),i}function ft(e){return e.children}function le(e,t){this.props=e,this.context=t}function Ne(e,t){if(t==null)return e.__?Ne(e.__,e.__.__k.indexOf(e)+1):null;for(var s;t<e.__k.length;t++)if((s=e.__k[t])!=null&&s.__e!=null)return s.__e;return typeof e.type=="function"?Ne(e):null}function tn(e){var t,s;if((e=e.__)!=null&&e.__c!=null){for(e.__e=e.__c.base=null,t=0;t<e.__k.length;t++)if((s=e.__k[t])!=null&&s.__e!=null){e.__e=e.__c.base=s.__e;break}return tn(e)}}function Bs(e){(!e.__d&&(e.__d=!0)&&ze.push(e)&&!pt.__r++||Ls!==M.debounceRendering)&&((Ls=M.debounceRendering)||Zs)(pt)}function pt(){for(var e;pt.__r=ze.length;)e=ze.sort(function(t,s){return t.__v.__b-s.__v.__b}),ze=[],e.some(function(t){var s,n,a,i,l,c;t.__d&&(l=(i=(s=t).__v).__e,(c=s.__P)&&(n=[],(a=xe({},i)).__v=i.__v+1,Kt(c,i,a,s.__n,c.ownerSVGElement!==void 0,i.__h!=null?[l]:null,n,l??Ne(i),i.__h),an(n,i),i.__e!=l&&tn(i)))})}function sn(e,t,s,n,a,i,l,c,d,p){var u,f,h,m,_,b,k,g=n&&n.__k||Qs,v=g.length;for(s.__k=[],u=0;u<t.length;u++)if((m=s.__k[u]=(m=t[u])==null||typeof m=="boolean"?null:typeof m=="string"||typeof m=="number"||typeof m=="bigint"?ct(null,m,null,null,m):Array.isArray(m)?ct(ft,{children:m},null,null,null):m.__b>0?ct(m.type,m.props,m.key,null,m.__v):m)!=null){if(m.__=s,m.__b=s.__b+1,(h=g[u])===null||h&&m.key==h.key&&m.type===h.type)g[u]=void 0;else for(f=0;f<v;f++){if((h=g[f])&&m.key==h.key&&m.type===h.type){g[f]=void 0;break}h=null}Kt(e,m,h=h||ut,a,i,l,c,d,p),_=m.__e,(f=m.ref)&&h.ref!=f&&(k||(k=[]),h.ref&&k.push(h.ref,null,m),k.push(f,m.__c||_,m)),_!=null?(b==null&&(b=_),typeof m.type=="function"&&m.__k!=null&&m.__k===h.__k?m.__d=d=nn(m,d,e):d=on(e,m,h,g,_,d),p||s.type!=="option"?typeof s.type=="function"&&(s.__d=d):e.value=""):d&&h.__e==d&&d.parentNode!=e&&(d=Ne(h))}for(s.__e=b,u=v;u--;)g[u]!=null&&(typeof s.type=="function"&&g[u].__e!=null&&g[u].__e==s.__d&&(s.__d=Ne(n,u+1)),ln(g[u],g[u]));if(k)for(u=0;u<k.length;u++)rn(k[u],k[++u],k[++u])}function nn(e,t,s){var n,a;for(n=0;n<e.__k.length;n++)(a=e.__k[n])&&(a.__=e,t=typeof a.type=="function"?nn(a,t,s):on(s,a,a,e.__k,a.__e,t));return t}function on(e,t,s,n,a,i){var l,c,d;if(t.__d!==void 0)l=t.__d,t.__d=void 0;else if(s==null||a!=i||a.parentNode==null)e:if(i==null||i.parentNode!==e)e.appendChild(a),l=null;else{for(c=i,d=0;(c=c.nextSibling)&&d<n.length;d+=2)if(c==a)break e;e.insertBefore(a,i),l=i}return l!==void 0?l:a.nextSibling}function Fs(e,t,s){t[0]==="-"?e.setProperty(t,s):e[t]=s==null?"":typeof s!="number"||Fo.test(t)?s:s+"px"}function lt(e,t,s,n,a){var i;e:if(t==="style")if(typeof s=="string")e.style.cssText=s;else{if(typeof n=="string"&&(e.style.cssText=n=""),n)for(t in n)s&&t in s||Fs(e.style,t,"");if(s)for(t in s)n&&s[t]===n[t]||Fs(e.style,t,s[t])}else if(t[0]==="o"&&t[1]==="n")i=t!==(t=t.replace(/Capture$/,"")),t=t.toLowerCase()in e?t.toLowerCase().slice(2):t.slice(2),e.l||(e.l={}),e.l[t+i]=s,s?n||e.addEventListener(t,i?Hs:Us,i):e.removeEventListener(t,i?Hs:Us,i);else if(t!=="dangerouslySetInnerHTML"){if(a)t=t.replace(/xlink[H:h]/,"h").replace(/sName$/,"s");else if(t!=="href"&&t!=="list"&&t!=="form"&&t!=="tabIndex"&&t!=="download"&&t in e)try{e[t]=s??"";break e}catch{}typeof s=="function"||(s!=null&&(s!==!1||t[0]==="a"&&t[1]==="r")?e.setAttribute(t,s):e.removeAttribute(t))}}function Us(e){this.l[e.type+!1](M.event?M.event(e):e)}function Hs(e){this.l[e.type+!0](M.event?M.event(e):e)}function Kt(e,t,s,n,a,i,l,c,d){var p,u,f,h,m,_,b,k,g,v,O,S=t.type;if(t.constructor!==void 0)return null;s.__h!=null&&(d=s.__h,c=t.__e=s.__e,t.__h=null,i=[c]),(p=M.__b)&&p(t);try{e:if(typeof S=="function"){if(k=t.props,g=(p=S.contextType)&&n[p.__c],v=p?g?g.props.value:p.__:n,s.__c?b=(u=t.__c=s.__c).__=u.__E:("prototype"in S&&S.prototype.render?t.__c=u=new S(k,v):(t.__c=u=new le(k,v),u.constructor=S,u.render=Ho),g&&g.sub(u),u.props=k,u.state||(u.state={}),u.context=v,u.__n=n,f=u.__d=!0,u.__h=[]),u.__s==null&&(u.__s=u.state),S.getDerivedStateFromProps!=null&&(u.__s==u.state&&(u.__s=xe({},u.__s)),xe(u.__s,S.getDerivedStateFromProps(k,u.__s))),h=u.props,m=u.state,f)S.getDerivedStateFromProps==null&&u.componentWillMount!=null&&u.componentWillMount(),u.componentDidMount!=null&&u.__h.push(u.componentDidMount);else{if(S.getDerivedStateFromProps==null&&k!==h&&u.componentWillReceiveProps!=null&&u.componentWillReceiveProps(k,v),!u.__e&&u.shouldComponentUpdate!=null&&u.shouldComponentUpdate(k,u.__s,v)===!1||t.__v===s.__v){u.props=k,u.state=u.__s,t.__v!==s.__v&&(u.__d=!1),u.__v=t,t.__e=s.__e,t.__k=s.__k,t.__k.forEach(function(w){w&&(w.__=t)}),u.__h.length&&l.push(u);break e}u.componentWillUpdate!=null&&u.componentWillUpdate(k,u.__s,v),u.componentDidUpdate!=null&&u.__h.push(function(){u.componentDidUpdate(h,m,_)})}u.context=v,u.props=k,u.state=u.__s,(p=M.__r)&&p(t),u.__d=!1,u.__v=t,u.__P=e,p=u.render(u.props,u.state,u.context),u.state=u.__s,u.getChildContext!=null&&(n=xe(xe({},n),u.getChildContext())),f||u.getSnapshotBeforeUpdate==null||(_=u.getSnapshotBeforeUpdate(h,m)),O=p!=null&&p.type===ft&&p.key==null?p.props.children:p,sn(e,Array.isArray(O)?O:[O],t,s,n,a,i,l,c,d),u.base=t.__e,t.__h=null,u.__h.length&&l.push(u),b&&(u.__E=u.__=null),u.__e=!1}else i==null&&t.__v===s.__v?(t.__k=s.__k,t.__e=s.__e):t.__e=Uo(s.__e,t,s,n,a,i,l,d);(p=M.diffed)&&p(t)}catch(w){t.__v=null,(d||i!=null)&&(t.__e=c,t.__h=!!d,i[i.indexOf(c)]=null),M.__e(w,t,s)}}function an(e,t){M.__c&&M.__c(t,e),e.some(function(s){try{e=s.__h,s.__h=[],e.some(function(n){n.call(s)})}catch(n){M.__e(n,s.__v)}})}function Uo(e,t,s,n,a,i,l,c){var d,p,u,f=s.props,h=t.props,m=t.type,_=0;if(m==="svg"&&(a=!0),i!=null){for(;_<i.length;_++)if((d=i[_])&&(d===e||(m?d.localName==m:d.nodeType==3))){e=d,i[_]=null;break}}if(e==null){if(m===null)return document.createTextNode(h);e=a?document.createElementNS("http://www.w3.org/2000/svg",m):document.createElement(m,h.is&&h),i=null,c=!1}if(m===null)f===h||c&&e.data===h||(e.data=h);else{if(i=i&&ht.call(e.childNodes),p=(f=s.props||ut).dangerouslySetInnerHTML,u=h.dangerouslySetInnerHTML,!c){if(i!=null)for(f={},_=0;_<e.attributes.length;_++)f[e.attributes[_].name]=e.attributes[_].value;(u||p)&&(u&&(p&&u.__html==p.__html||u.__html===e.innerHTML)||(e.innerHTML=u&&u.__html||""))}if((function(b,k,g,v,O){var S;for(S in g)S==="children"||S==="key"||S in k||lt(b,S,null,g[S],v);for(S in k)O&&typeof k[S]!="function"||S==="children"||S==="key"||S==="value"||S==="checked"||g[S]===k[S]||lt(b,S,k[S],g[S],v)})(e,h,f,a,c),u)t.__k=[];else if(_=t.props.children,sn(e,Array.isArray(_)?_:[_],t,s,n,a&&m!=="foreignObject",i,l,i?i[0]:s.__k&&Ne(s,0),c),i!=null)for(_=i.length;_--;)i[_]!=null&&en(i[_]);c||("value"in h&&(_=h.value)!==void 0&&(_!==e.value||m==="progress"&&!_)&&lt(e,"value",_,f.value,!1),"checked"in h&&(_=h.checked)!==void 0&&_!==e.checked&&lt(e,"checked",_,f.checked,!1))}return e}function rn(e,t,s){try{typeof e=="function"?e(t):e.current=t}catch(n){M.__e(n,s)}}function ln(e,t,s){var n,a;if(M.unmount&&M.unmount(e),(n=e.ref)&&(n.current&&n.current!==e.__e||rn(n,null,t)),(n=e.__c)!=null){if(n.componentWillUnmount)try{n.componentWillUnmount()}catch(i){M.__e(i,t)}n.base=n.__P=null}if(n=e.__k)for(a=0;a<n.length;a++)n[a]&&ln(n[a],t,typeof e.type!="function");s||e.__e==null||en(e.__e),e.__e=e.__d=void 0}function Ho(e,t,s){return this.constructor(e,s)}function Vt(e,t,s){var n,a,i;M.__&&M.__(e,t),a=(n=typeof s=="function")?null:s&&s.__k||t.__k,i=[],Kt(t,e=(!n&&s||t).__k=o(ft,null,[e]),a||ut,ut,t.ownerSVGElement!==void 0,!n&&s?[s]:a?null:t.firstChild?ht.call(t.childNodes):null,i,!n&&s?s:a?a.__e:t.firstChild,n),an(i,e)}ht=Qs.slice,M={__e:function(e,t){for(var s,n,a;t=t.__;)if((s=t.__c)&&!s.__)try{if((n=s.constructor)&&n.getDerivedStateFromError!=null&&(s.setState(n.getDerivedStateFromError(e)),a=s.__d),s.componentDidCatch!=null&&(s.componentDidCatch(e),a=s.__d),a)return s.__E=s}catch(i){e=i}throw e}},Ys=0,le.prototype.setState=function(e,t){var s;s=this.__s!=null&&this.__s!==this.state?this.__s:this.__s=xe({},this.state),typeof e=="function"&&(e=e(xe({},s),this.props)),e&&xe(s,e),e!=null&&this.__v&&(t&&this.__h.push(t),Bs(this))},le.prototype.forceUpdate=function(e){this.__v&&(this.__e=!0,e&&this.__h.push(e),Bs(this))},le.prototype.render=ft,ze=[],Zs=typeof Promise=="function"?Promise.prototype.then.bind(Promise.resolve()):setTimeout,pt.__r=0,Bo=0;var Ke,Q,Ws,mt=0,Wt=[],zs=M.__b,Ks=M.__r,Vs=M.diffed,Gs=M.__c,Js=M.unmount;function gt(e,t){M.__h&&M.__h(Q,e,mt||t),mt=0;var s=Q.__H||(Q.__H={__:[],__h:[]});return e>=s.__.length&&s.__.push({}),s.__[e]}function E(e){return mt=1,Wo(cn,e)}function Wo(e,t,s){var n=gt(Ke++,2);return n.t=e,n.__c||(n.__=[s?s(t):cn(void 0,t),function(a){var i=n.t(n.__[0],a);n.__[0]!==i&&(n.__=[i,n.__[1]],n.__c.setState({}))}],n.__c=Q),n.__}function B(e,t){var s=gt(Ke++,3);!M.__s&&Gt(s.__H,t)&&(s.__=e,s.__H=t,Q.__H.__h.push(s))}function _t(e,t){var s=gt(Ke++,4);!M.__s&&Gt(s.__H,t)&&(s.__=e,s.__H=t,Q.__h.push(s))}function J(e){return mt=5,he(function(){return{current:e}},[])}function he(e,t){var s=gt(Ke++,7);return Gt(s.__H,t)&&(s.__=e(),s.__H=t,s.__h=e),s.__}function zo(){Wt.forEach(function(e){if(e.__P)try{e.__H.__h.forEach(dt),e.__H.__h.forEach(zt),e.__H.__h=[]}catch(t){e.__H.__h=[],M.__e(t,e.__v)}}),Wt=[]}M.__b=function(e){Q=null,zs&&zs(e)},M.__r=function(e){Ks&&Ks(e),Ke=0;var t=(Q=e.__c).__H;t&&(t.__h.forEach(dt),t.__h.forEach(zt),t.__h=[])},M.diffed=function(e){Vs&&Vs(e);var t=e.__c;t&&t.__H&&t.__H.__h.length&&(Wt.push(t)!==1&&Ws===M.requestAnimationFrame||((Ws=M.requestAnimationFrame)||function(s){var n,a=function(){clearTimeout(i),Xs&&cancelAnimationFrame(n),setTimeout(s)},i=setTimeout(a,100);Xs&&(n=requestAnimationFrame(a))})(zo)),Q=void 0},M.__c=function(e,t){t.some(function(s){try{s.__h.forEach(dt),s.__h=s.__h.filter(function(n){return!n.__||zt(n)})}catch(n){t.some(function(a){a.__h&&(a.__h=[])}),t=[],M.__e(n,s.__v)}}),Gs&&Gs(e,t)},M.unmount=function(e){Js&&Js(e);var t=e.__c;if(t&&t.__H)try{t.__H.__.forEach(dt)}catch(s){M.__e(s,t.__v)}};var Xs=typeof requestAnimationFrame=="function";function dt(e){var t=Q;typeof e.__c=="function"&&e.__c(),Q=t}function zt(e){var t=Q;e.__c=e.__(),Q=t}function Gt(e,t){return!e||e.length!==t.length||t.some(function(s,n){return s!==e[n]})}function cn(e,t){return typeof t=="function"?t(e):t}var dn=["agent_ended","agent_started","compacted","control","error","forked","mode_changed","model_changed","renamed","session_resumed"],Jt={file_changed:["before","keys"],compacted:["messages","summary","plan"],rewound:["messages"]};var Pe="/api/v1",bt=class extends Error{constructor(t,s,n){super(n),Object.assign(this,{status:t,kind:s})}},Me={ahead:0,now(){return Date.now()+this.ahead}};function Ko(e){let t=Date.parse(e.headers.get("date")||""),s=t+500-Date.now();t&&Math.abs(s)>3e3&&(Me.ahead=s)}function Xt(){let e=crypto.getRandomValues(new Uint8Array(16));return Array.from(e,t=>t.toString(16).padStart(2,"0")).join("")}async function un(e,t,s,n="application/json"){let a={method:e,headers:{accept:n},cache:"no-store"};e!=="GET"&&(Object.assign(a.headers,{"content-type":"application/json",...e==="POST"&&{"idempotency-key":Xt()}}),a.body=JSON.stringify(s||{}));let i=await fetch(Pe+t,a).catch(()=>{throw new bt(0,"network","")});if(Ko(i),i.ok)return i;let l=(await i.json().catch(()=>null))?.error||{};throw new bt(i.status,String(l.kind||"internal_error"),String(l.message||i.status))}var yt=async(...e)=>{let t=await un(...e);return t.status===204?null:t.json()},X=e=>yt("GET",e),K=(e,t)=>yt("POST",e,t),kt=(e,t)=>yt("PATCH",e,t),Yt=e=>yt("DELETE",e),Ve=e=>`?${new URLSearchParams(Object.entries(e).filter(([,t])=>t))}`;function wt(e){for(let t of Object.hasOwn(Jt,e.type)?Jt[e.type]:[])delete e.data[t];return e}async function xt(e,t){return(await(await un("GET",`/sessions/${e}/events${Ve(t)}`,null,"application/x-ndjson")).text()).split(`
`).filter(Boolean).map(n=>wt(JSON.parse(n)))}var pn="ask_agent",Zt="update_plan",mn=["bash"];var hn=["command","path","pattern","name","identifier","query","url"],Qt={read:"path",write:"path",edit:"path",bash:"command",glob:"path",grep:"path",list_dir:"path",web_fetch:"url",load_skill:"name",ask_agent:"identifier",delegate_task:"identifier",spawn_agent:"name",destroy_agent:"identifier",interrupt_agent:"identifier"},es={read:"count",write:"diff",edit:"diff",glob:"count",grep:"count",list_dir:"count",load_skill:"nothing",list_skills:"nothing",update_plan:"whole",ask_agent:"message",delegate_task:"message",send_response:"message",list_team:"nothing",spawn_agent:"nothing",list_models:"nothing"};var ts=500,Vo=50,Go=100,Jo=["messages","turns","calls","failed_calls","questions","denials","file_changes","compactions","errors","resumes"],$t=["input_tokens","output_tokens","cache_read_tokens","cache_write_tokens","reasoning_tokens"],Re=(e,t)=>Object.fromEntries(e.map(s=>[s,t(s)])),as=()=>0;function Et(){return{seq:0,id:"",name:"",workspace:"",version:"",started:"",updated:"",parent:"",forked_at:0,mode:"",state:"done",halted:!1,agents:[],questions:[],owed:[],budget:null,files:[],usage:Re($t,as),cost_usd:0,unpriced:0,counts:Re(Jo,as),error:null}}function is(e,t){if(t.seq===null||t.seq===void 0)return e;let s={...e,seq:t.seq,updated:t.ts},n=Object.hasOwn(Sn,t.type)&&Sn[t.type],a=n&&Cn(n[0],t.data);return a&&(n[1](s,t,a,Ct(s,t.agent_id)),s.state=Qo(s)),s}function Je(e,t=Et()){for(let s of e)t=is(t,s);return t}var Ie=e=>typeof e=="string",St=e=>typeof e=="object"&&e!==null&&!Array.isArray(e),En=e=>[t=>t===null||e(t),null],fe=[Ie],A=[Ie,""],vt=[Number.isInteger,0],fn=En(Ie),ss=En(Number.isFinite),Xo=[e=>typeof e=="boolean",!1],Yo=[e=>Array.isArray(e)&&e.every(Ie),[]],gn=[()=>!0,null];function Cn(e,t){if(!St(t))return null;let s={};for(let n in e){let a=e[n];if(a===!0)continue;let i=Object.hasOwn(t,n);if(Array.isArray(a)){if(i?!a[0](t[n]):a.length<2)return null;s[n]=i?t[n]:a[1]}else if(s[n]=i||!a.needed?Cn(a,i?t[n]:{}):null,!s[n])return null}return s}var _n=Re($t,()=>vt),bn={provider:A,model:A,id:A,context_window:[Number.isInteger,128e3]},yn={id:A,name:A,workspace:A,version:A,options:{mode:A}},kn={name:A,mode:A},wn=e=>e.id||`${e.provider}/${e.model}`,Ge=(e,t)=>e.length<=t?e:Array.from(e).slice(0,t).join(""),Zo=(e,t)=>Re($t,s=>e[s]+t[s]),Ct=(e,t)=>e.agents.find(s=>s.id===t);function V(e,t,s){let n=e.agents.findIndex(a=>a.id===t&&a.status!=="ended");n<0||(e.agents=e.agents.slice(),e.agents[n]={...e.agents[n],...s})}var de=(e,t,s)=>{e[t]=e[t].filter(s)};function ce(e,t,s=1){e.counts={...e.counts,[t]:e.counts[t]+s}}function Qo(e){if(e.questions.length)return"waiting";let t="",s=!1;for(let n of e.agents)if(n.status!=="ended"){if(n.status!=="idle"||n.unread.length&&!e.halted)return"running";t=t||n.last_turn||"none",s=s||n.unread.length>0}return t==="failed"||t==="capped"?"failed":s||t==="interrupted"||t==="timed_out"?"interrupted":"done"}function Tn(e,t){e.agents=e.agents.map(s=>s.waits.some(t)?{...s,waits:s.waits.filter(n=>!t(n))}:s)}function xn(e){Tn(e,()=>!0),e.questions=[],de(e,"owed",t=>t.kind!=="ask")}function ns(e,t){for(let s of t){let n=e.owed.find(i=>i.id===s);if(!n)continue;let a=Ct(e,n.from);de(e,"owed",i=>i!==n),a&&V(e,a.id,{waits:a.waits.filter(i=>i.message_id!==s)})}}function os(e,t){let s=new Set(Ct(e,t)?.waits.map(n=>n.message_id));V(e,t,{waits:[]}),de(e,"questions",n=>n.agent_id!==t),de(e,"owed",n=>!s.has(n.id))}function ea(e){return Ie(e)?e:e===null?"None":typeof e=="boolean"?e?"True":"False":typeof e=="number"?String(e):JSON.stringify(e)}function rs(e,t){if(!St(t))return"";let n=[...Object.hasOwn(Qt,e)?[Qt[e]]:[],...hn].find(a=>Object.hasOwn(t,a)&&Ie(t[a]));return n?Ge(t[n],200):""}function ta(e){if(!St(e)||!Array.isArray(e.steps))return[];let t=(s,n)=>Object.hasOwn(s,n)?ea(s[n]):"";return e.steps.slice(0,Vo).filter(St).map(s=>({text:Ge(t(s,"text"),200),status:t(s,"status")}))}function vn(e,t,s){e.mode=s.mode||e.mode,e.name=s.name||e.name}var Sn={session_started:[yn,(e,t,{options:s,...n})=>Object.assign(e,n,{started:t.ts,mode:s.mode})],session_resumed:[yn,(e,t,s)=>{ce(e,"resumes"),xn(e),e.version=s.version||e.version,e.mode=s.options.mode||e.mode,e.halted=!1}],renamed:[kn,vn],mode_changed:[kn,vn],forked:[{session_id:A,at:vt},(e,t,s)=>{xn(e),e.parent=s.session_id,e.forked_at=s.at}],agent_started:[{agent:{needed:!0,id:fe,type:A,name:A,role:A,model:bn,delegator_id:A}},(e,t,{agent:{id:s,type:n,name:a,role:i,model:l,delegator_id:c}})=>{de(e,"agents",d=>d.id!==s),e.agents.push({id:s,type:n,name:a,role:i,delegator_id:c,model:wn(l),status:"idle",since:t.ts,stopping:!1,turn:0,steps:0,opened_by:"",last_turn:"",ended:"",reason:"",unread:[],calls:[],waits:[],plan:[],usage:Re($t,as),cost_usd:0,unpriced:0,context:0,window:l.context_window,error:null})}],agent_ended:[{status:A,reason:A},(e,t,s)=>{let n=t.agent_id;V(e,n,{status:"ended",since:t.ts,ended:s.status,reason:Ge(s.reason,ts),stopping:!1,opened_by:"",unread:[],calls:[],waits:[]}),Tn(e,a=>a.on===n),de(e,"questions",a=>a.agent_id!==n),de(e,"owed",a=>a.to!==n)}],message:[{id:fe,kind:A,from:A,to:A,correlation_id:fn},(e,t,{id:s,kind:n,from:a,to:i,correlation_id:l})=>{let c={id:s,kind:n,from:a,to:i,since:t.ts};ce(e,"messages");let d=Ct(e,i);d&&V(e,d.id,{unread:[...d.unread,c]}),(n==="ask"||n==="task")&&a!=="user"?e.owed=[...e.owed,c]:n==="response"&&l&&ns(e,[l])}],delivery:[{ids:Yo,state:A},(e,t,s,n)=>{n&&V(e,n.id,{unread:n.unread.filter(a=>!s.ids.includes(a.id))}),s.state!=="delivered"&&ns(e,s.ids)}],wait:[{on:fe,message_id:fe,deadline:A,call_id:fn},(e,t,s,n)=>{!n||n.opened_by===""||n.stopping||V(e,n.id,{waits:[...n.waits,{...s,call_id:s.call_id||"",since:t.ts}]})}],control:[{action:fe,target:A},(e,t,s)=>{let n=s.action==="halt";for(let a of e.agents.filter(i=>n||i.id===s.target))s.action==="destroy"&&V(e,a.id,{ended:"destroyed"}),a.opened_by&&(V(e,a.id,{stopping:!0}),os(e,a.id));e.halted=e.halted||n}],turn_start:[{message_id:A},(e,t,s)=>{os(e,t.agent_id||""),ce(e,"turns"),e.halted=!1,V(e,t.agent_id,{status:"streaming",since:t.ts,turn:t.turn,steps:0,opened_by:s.message_id,calls:[],error:null,stopping:!1})}],turn_end:[{status:A},(e,t,s,n)=>{n&&(os(e,n.id),ns(e,e.owed.filter(a=>a.id===n.opened_by&&a.kind==="ask").map(a=>a.id)),V(e,n.id,{status:"idle",since:t.ts,last_turn:s.status,opened_by:"",calls:[],stopping:!1}))}],assistant_message:[{message:{needed:!0,usage:_n}},(e,t,{message:{usage:s}},n)=>{if(!n)return;let a=s.input_tokens+s.cache_read_tokens+s.cache_write_tokens+s.output_tokens;V(e,n.id,{steps:n.steps+1,context:a||n.context,since:t.ts})}],tool_start:[{id:fe,name:A,args:gn},(e,t,{id:s,name:n,args:a},i)=>{if(!i)return;let l={id:s,name:n,subject:rs(n,a),since:t.ts,plan:n===Zt?ta(a):[]};V(e,i.id,{status:"executing_tools",since:t.ts,calls:[...i.calls,l]})}],tool_end:[{id:fe,name:A,ok:Xo},(e,t,s,n)=>{ce(e,"calls"),s.ok||ce(e,"failed_calls"),de(e,"questions",d=>!s.id||d.call_id!==s.id);let a=n?.calls.find(d=>d.id===s.id);if(!a)return;let i=n.calls.filter(d=>d.id!==s.id),l=i.some(d=>d.name===pn),c=n.waits.filter(d=>d.call_id===s.id||!d.call_id&&!l).map(d=>d.message_id);V(e,n.id,{status:i.length?"executing_tools":"streaming",since:t.ts,calls:i,waits:n.waits.filter(d=>!c.includes(d.message_id)),plan:a.name===Zt&&s.ok?a.plan:n.plan}),de(e,"owed",d=>!c.includes(d.id))}],usage:[{usage:_n,cost_usd:ss,estimated:gn},(e,t,s,n)=>{let a=i=>({usage:Zo(i.usage,s.usage),cost_usd:i.cost_usd+(s.cost_usd||0),unpriced:i.unpriced+(s.cost_usd===null?1:0),...s.estimated&&{estimated:(i.estimated||0)+1}});n&&V(e,n.id,a(n)),Object.assign(e,a(e))}],budget:[{limit_usd:ss,spent_usd:ss},(e,t,s)=>{s.limit_usd!==null&&(e.budget=s)}],permission_request:[{id:fe,call_id:A,tool:A,text:A,adds:A,reason:A,digest:A,deadline:A},(e,t,s,n)=>{if(ce(e,"questions"),n?.stopping)return;let a=Re(["text","adds","reason"],i=>Ge(s[i],ts));e.questions=[...e.questions,{...s,...a,seq:t.seq||0,agent_id:t.agent_id||"",since:t.ts}]}],permission_decision:[{call_id:A,decision:A,request_id:A},(e,t,s)=>{s.decision==="deny"&&ce(e,"denials"),de(e,"questions",n=>n.id!==s.request_id&&!(s.call_id&&n.call_id===s.call_id))}],file_changed:[{path:fe,call_id:A,after_sha256:A},(e,t,{after_sha256:s,...n})=>{let a=e.files.find(l=>l.path===n.path),i={...n,agent_id:t.agent_id||"",changes:(a?.changes||0)+1,removed:s==="",since:t.ts};e.files=[...e.files.filter(l=>l!==a),i].slice(-Go),ce(e,"file_changes")}],compacted:[{tokens_after:vt,window:vt},(e,t,s,n)=>{ce(e,"compactions"),n&&V(e,n.id,{context:s.tokens_after,window:s.window||n.window})}],rewound:[{},(e,t)=>V(e,t.agent_id,{context:0})],model_changed:[{model:{needed:!0,...bn}},(e,t,s)=>{V(e,t.agent_id,{model:wn(s.model),window:s.model.context_window})}],error:[{kind:A,message:A},(e,t,s)=>{let n={agent_id:t.agent_id||"",kind:s.kind,message:Ge(s.message,ts),since:t.ts};ce(e,"errors"),V(e,t.agent_id,{error:n}),e.error=n}]};var sa="allowAlways allowOnce allowSession answer budget by by.agent by.call by.turn call.command call.exit call.output call.runs cancel card.calls card.cost card.fresh card.model card.noTurn card.output card.read card.role card.tokens card.unread card.used card.waits card.window card.written changes.empty changes.files changes.lost changes.turn changes.undo changes.undone check.error check.ok check.warning close code code.of config.show config.title conn.ended conn.lost conv.all conv.begin conv.edit conv.empty conv.filter conv.find conv.forget conv.goOn conv.images conv.none conv.older conv.rewind conv.steps conv.thinking conv.toEnd cost.none cost.unpriced cost.whole count.calls count.denials count.errors count.failed count.files count.mail decision.allow decision.deny deny denyReason diff diff.added diff.hidden diff.removed doctor.run doctor.title door.bad door.code door.enter door.title door.words error.away export fold fork fork.made from help inbox.adds inbox.asks inbox.call inbox.count inbox.empty inbox.expires inbox.hidden inbox.in inbox.late inbox.lost inbox.more inbox.none inbox.noRule inbox.of inbox.place inbox.reason inbox.rule inbox.shown inbox.why inbox.wider keys.close keys.compose keys.find keys.help keys.pan keys.rows keys.stop keys.zoom kind lanes.asks lanes.hint lanes.label lanes.mail lanes.older lanes.table lanes.tool lanes.waits lanes.work language.en language.es live.compacting live.pacing live.working loading look.auto look.dark look.keys look.light look.notify look.theme look.title look.words mail.ask mail.prompt mail.response mail.task md.image md.table mode.ask mode.full mode.label mode.plan mode.read-only mode.workspace models.busy models.empty models.price models.test models.title models.used models.window models.works more nav.changes nav.conversation nav.inbox nav.label nav.session nav.sessions nav.settings nav.team nobody note.checked note.compacted note.destroyed note.ended note.forked note.halted note.interrupted note.mode note.model note.renamed note.resumed note.rewound note.started note.told plan replay.at replay.back replay.label replay.live replay.on replay.pause replay.place replay.play replay.shown retry say.busy say.hint say.idle say.label say.queue say.send say.steer say.team say.to scope.once scope.rule scope.session search.label session.done session.failed session.interrupted session.running session.unknown session.waiting sessions.acts sessions.blank sessions.delete sessions.empty sessions.find sessions.fork sessions.held sessions.new sessions.none sessions.origin sessions.rename sessions.sure sessions.where set.leave set.server set.version set.workspace setup.address setup.change setup.default setup.done setup.first setup.go setup.have setup.kept setup.key setup.model setup.name setup.other setup.provider setup.title setup.where setup.words showAll since skip start.budget start.busy start.default start.example start.free start.go start.none start.prompt state state.asks state.ended state.error state.failed state.idle state.stopping state.thinking state.unread state.waits step.completed step.in_progress step.pending stop team.agents team.empty team.label teams.check teams.empty teams.ok teams.title time time.ago time.now to tokens turn.capped turn.completed turn.failed turn.interrupted turn.timed_out undo.commands undo.done undo.look undo.none undo.plan undo.take undo.tick why why.on you".split(" "),ls=e=>Object.fromEntries(e.split(`
`).map((t,s)=>[sa[s],t])),cs=ls(`Always allow
Allow once
Allow for this session
Answer
{spent} of {limit} spent
Group by
Agent
Call
Turn
Full command
exit code {code}
Output
running
Cancel
Running tools
Cost
input
Change model…
none yet
output
cache read
Type
Tokens
Unread
{used} of {all} tokens
Waiting for
Context
cache write
No files changed in this session yet.
{n} file|{n} files
No diff: the log does not contain what this call wrote.
turn {n}
undo
undone
Error
OK
Warning
Close
Code
Code ({language})
{n} setting in effect|{n} settings in effect
Configuration
This session is closed. You can still read it. Send a message to reopen it.
Connection lost {span} ago. Reconnecting… You can still read this page.
All
Start of session
Edit message
No messages yet. Describe a task to get started.
Filter by agent
Search this session
All agents forget this message and everything after it. Files are not changed.
Rewind and send
{n} image attached|{n} images attached
No matching messages.
Loading earlier messages…
Rewind only
{n} step|{n} steps
Thinking
Jump to latest ↓
unpriced
{n} call has no known price and is not included|{n} calls have no known price and are not included
Cost of this session
tool call|tool calls
denial|denials
error|errors
failed call|failed calls
file|files
message|messages
allowed
denied
Deny
Deny with reason
Diff
added:
{n} more line is not shown.|{n} more lines are not shown.
removed:
Run checks
Diagnostics
This code is invalid, used or expired. Get a new one; codes expire after a minute.
One-time code
Sign in
Sign in
Run this command to get a one-time code:
The server is not responding. Check that “planck serve” is still running.
Export {format}
Show less
Fork
was created as a fork
From
Keyboard shortcuts
Effect
{agent} needs your approval
Requested call
{n} question needs you|{n} questions need you
No pending questions.
Expires
{n} line is not shown in this preview. The call above is complete.|{n} lines are not shown in this preview. The call above is complete.
in {span}
This question was already answered or withdrawn.
Can't load questions without a connection.
More options
none
This call can only be allowed once.
Question from {agent}
“Always allow” is saved for this project in {place}.
Reason for denying (sent to the agent)
The two answers below allow every call that matches:
Preview
Reason
Use a broader rule:
Close a dialog or leave a text field
Write a message
Search
Show keyboard shortcuts
Pan the timeline
Move between agents or changes
Stop all agents
Zoom the timeline; 0 shows all
Type
asks you
Hover over a bar for details · ← → pan · + − zoom
Team timeline
Latest messages between agents
earlier
Agent status
tool
waiting
thinking
English
Español
Compacting the context…
Waiting for the provider's rate limit…
Still writing…
Loading…
System
Dark
Single-key shortcuts
Light
Notify me about questions when this tab is hidden
Theme
Preferences
Language
ask
prompt
response
task
image: {alt}
Table
ask
full
Permission mode
plan
read-only
workspace
Testing…
No models are set up yet.
{input} in, {output} out per million tokens
Test
Models
default
{n}-token context
Responded in {time}
Show more
Changes
Conversation
Inbox
Main
This session
Sessions
Settings
Team
unknown
Check: {status}
Compacted the context of {name}: {before} → {after} tokens
{name} is being shut down
{name} ended: {reason}
Forked from another session at event {seq}
All agents were stopped
{name} was interrupted
Permission mode changed to {mode}
{name} switched to {model}
Session renamed to {name}
Session resumed
All agents were rewound to event {seq}
{name} started with {model}
Automatic message to {name}:
Plan
event {seq} of {head}
Previous event
Replay
Live
Next event
Pause
Position in the log
Play from here
Showing event {seq}, not the current state.
Try again
Steer the team…
Enter sends, Ctrl+Enter queues, Shift+Enter adds a line
Describe a task…
Your message
Queue
Send
Steer
Team
Send to
once
always
for this session
Matching messages
done
failed
interrupted
running
unreadable
needs you
Actions for {name}
No prompt yet
Delete…
No sessions yet. Describe a task above to start one.
Search sessions
fork of {name} at event {seq}
open
New session
No matching sessions.
Go to fork point
Rename
Delete permanently
Open in process {pid} on {host}
Sign out in this browser
Server
Version
Workspace
Base URL
Set up another model
provider default
The model responded and is saved as the default.
Set up a model
Test and save
New sessions use
Saved in a file that only you can read. It is never shown again.
API key
Model
Name
Other server…
Provider
Default model
The server must be OpenAI-compatible.
A short test request is sent before anything is saved.
Show all {n} lines
Duration
Skip to content
Budget (USD)
Starting…
Default
The tests fail. Find the cause and fix it.
No limit
Start
No model is set up yet. Setup takes about a minute.
What should the team do?
State
asks you
ended
failed: {kind}
failed
idle
stopping
thinking
{n} unread
waiting for {name}
done
in progress
pending
Stop
Agents
No agents have started yet.
Team activity
Check
No teams yet. Run “planck teams new ALIAS” to create one.
Ready
Teams
Time
{span} ago
just now
To
{n} tokens
limit reached
completed
failed
interrupted
timed out
{n} command ran and can't be undone|{n} commands ran and can't be undone
{n} file restored. To reverse this undo:|{n} files restored. To reverse this undo:
Preview undo
Nothing to undo.
Undo preview
Undo {n} file|Undo {n} files
Select changes to undo.
Blocked
waits for
You`);var On=ls(`Permitir siempre
Permitir una vez
Permitir en esta sesión
Responder
Gasto: {spent} de {limit}
Agrupar por
Agente
Llamada
Turno
Comando completo
código de salida {code}
Salida
en ejecución
Cancelar
Herramientas en ejecución
Costo
entrada
Cambiar modelo…
ninguno aún
salida
caché leída
Tipo
Tokens
Sin leer
{used} de {all} tokens
Espera a
Contexto
caché escrita
Aún no hay archivos modificados en esta sesión.
{n} archivo|{n} archivos
Sin diferencias: el registro no contiene lo que escribió esta llamada.
turno {n}
reversión
deshecho
Error
Correcto
Advertencia
Cerrar
Código
Código ({language})
{n} opción en uso|{n} opciones en uso
Configuración
Esta sesión está cerrada. Aún puedes leerla. Envía un mensaje para reabrirla.
Se perdió la conexión hace {span}. Reconectando… Aún puedes leer esta página.
Todos
Inicio de la sesión
Editar mensaje
Aún no hay mensajes. Describe una tarea para empezar.
Filtrar por agente
Buscar en esta sesión
Todos los agentes olvidan este mensaje y los siguientes. Los archivos no cambian.
Retroceder y enviar
{n} imagen adjunta|{n} imágenes adjuntas
Ningún mensaje coincide.
Cargando mensajes anteriores…
Solo retroceder
{n} paso|{n} pasos
Razonamiento
Ir a lo más reciente ↓
sin precio
{n} llamada sin precio conocido no está incluida|{n} llamadas sin precio conocido no están incluidas
Costo de esta sesión
llamada|llamadas
denegación|denegaciones
error|errores
llamada fallida|llamadas fallidas
archivo|archivos
mensaje|mensajes
permitido
denegado
Denegar
Denegar con motivo
Diferencias
agregado:
{n} línea más no se muestra.|{n} líneas más no se muestran.
eliminado:
Ejecutar diagnóstico
Diagnóstico
Este código no es válido, ya se usó o venció. Pide otro; los códigos vencen en un minuto.
Código de un solo uso
Iniciar sesión
Iniciar sesión
Ejecuta este comando para obtener un código de un solo uso:
El servidor no responde. Verifica que “planck serve” siga en ejecución.
Exportar {format}
Mostrar menos
Bifurcar
se creó como bifurcación
De
Atajos de teclado
Efecto
{agent} necesita tu aprobación
Llamada solicitada
{n} pregunta pendiente|{n} preguntas pendientes
No hay preguntas pendientes.
Vence
{n} línea no se muestra en esta vista previa. La llamada de arriba está completa.|{n} líneas no se muestran en esta vista previa. La llamada de arriba está completa.
en {span}
Esta pregunta ya se respondió o se retiró.
No se pueden cargar las preguntas sin conexión.
Más opciones
ninguno
Esta llamada solo se puede permitir una vez.
Pregunta de {agent}
“Permitir siempre” se guarda para este proyecto en {place}.
Motivo para denegar (se envía al agente)
Las dos respuestas siguientes permiten todas las llamadas que coincidan con:
Vista previa
Motivo
Usar una regla más amplia:
Cerrar un diálogo o salir de un campo
Escribir un mensaje
Buscar
Mostrar los atajos de teclado
Desplazar la línea de tiempo
Moverse entre agentes o cambios
Detener a todos los agentes
Zoom de la línea de tiempo; 0 muestra todo
Tipo
te pregunta
Señala una barra para ver detalles · ← → mover · + − zoom
Línea de tiempo del equipo
Últimos mensajes entre agentes
antes
Estado de los agentes
herramienta
espera
pensando
English
Español
Compactando el contexto…
En espera por el límite de solicitudes del proveedor…
Sigue escribiendo…
Cargando…
Sistema
Oscuro
Atajos de una sola tecla
Claro
Notificarme las preguntas cuando esta pestaña esté oculta
Tema
Preferencias
Idioma
pregunta
instrucción
respuesta
tarea
imagen: {alt}
Tabla
preguntar
total
Modo de permisos
plan
solo lectura
espacio de trabajo
Probando…
Aún no hay modelos configurados.
{input} de entrada, {output} de salida por millón de tokens
Probar
Modelos
predeterminado
{n} tokens de contexto
Respondió en {time}
Mostrar más
Cambios
Conversación
Bandeja
Principal
Esta sesión
Sesiones
Ajustes
Equipo
desconocido
Verificación: {status}
Se compactó el contexto de {name}: {before} → {after} tokens
{name} se está cerrando
{name} finalizó: {reason}
Bifurcación de otra sesión en el evento {seq}
Se detuvo a todos los agentes
Se interrumpió a {name}
El modo de permisos cambió a “{mode}”
{name} cambió a {model}
La sesión ahora se llama {name}
Sesión reanudada
Todos los agentes retrocedieron al evento {seq}
{name} se inició con {model}
Mensaje automático para {name}:
Plan
evento {seq} de {head}
Evento anterior
Reproducción
En vivo
Evento siguiente
Pausar
Posición en el registro
Reproducir desde aquí
Se muestra el evento {seq}, no el estado actual.
Reintentar
Guía al equipo…
Enter envía, Ctrl+Enter pone en cola, Shift+Enter agrega una línea
Describe una tarea…
Tu mensaje
Poner en cola
Enviar
Guiar
Equipo
Enviar a
una vez
siempre
en esta sesión
Mensajes encontrados
completada
fallida
interrumpida
en curso
ilegible
pregunta
Acciones para {name}
Sin instrucciones aún
Eliminar…
Aún no hay sesiones. Describe una tarea arriba para empezar.
Buscar sesiones
bifurcación de {name} en el evento {seq}
abierta
Nueva sesión
Ninguna sesión coincide.
Ir al punto de bifurcación
Cambiar nombre
Eliminar definitivamente
Abierta en el proceso {pid} de {host}
Cerrar sesión en este navegador
Servidor
Versión
Espacio de trabajo
URL base
Configurar otro modelo
predeterminado del proveedor
El modelo respondió y se guardó como predeterminado.
Configurar un modelo
Probar y guardar
Las sesiones nuevas usan
Se guarda en un archivo que solo tú puedes leer. No se vuelve a mostrar.
Clave de API
Modelo
Nombre
Otro servidor…
Proveedor
Modelo predeterminado
El servidor debe ser compatible con OpenAI.
Se envía una breve solicitud de prueba antes de guardar.
Mostrar las {n} líneas
Duración
Ir al contenido
Presupuesto (USD)
Iniciando…
Predeterminado
Las pruebas fallan. Busca la causa y corrígela.
Sin límite
Iniciar
Aún no hay ningún modelo configurado. Configurarlo toma cerca de un minuto.
¿Qué debe hacer el equipo?
Estado
pregunta
finalizado
falló: {kind}
falló
inactivo
deteniéndose
pensando
{n} sin leer
espera a {name}
completado
en curso
pendiente
Detener
Agentes
Aún no se ha iniciado ningún agente.
Actividad del equipo
Verificar
Aún no hay equipos. Ejecuta “planck teams new ALIAS” para crear uno.
Listo
Equipos
Hora
hace {span}
hace un momento
A
{n} tokens
límite alcanzado
completado
fallido
interrumpido
tiempo agotado
{n} comando se ejecutó y no se puede deshacer|{n} comandos se ejecutaron y no se pueden deshacer
{n} archivo restaurado. Para deshacer esta acción:|{n} archivos restaurados. Para deshacer esta acción:
Previsualizar
No hay nada que deshacer.
Vista previa
Deshacer {n} archivo|Deshacer {n} archivos
Selecciona qué deshacer.
Bloqueado
espera a
Tú`);var Mn={en:cs,es:On},ds=Object.keys(Mn),ge="en",An,qn,Tt,us,Dn,jn;function ps(e){ge=[e,...globalThis.navigator?.languages||[]].map(n=>String(n||"").slice(0,2)).find(n=>ds.includes(n))||"en";let s=n=>new Intl.DateTimeFormat(ge,{hourCycle:"h23",...n});return An=new Intl.PluralRules(ge),qn=new Intl.NumberFormat(ge),Tt=new Intl.NumberFormat(ge,{maximumFractionDigits:1}),us=s({hour:"2-digit",minute:"2-digit"}),Dn=s({dateStyle:"medium",timeStyle:"medium"}),jn=s({day:"numeric",month:"short"}),ge}ps("");function r(e,t={}){let[s,n=s]=(Mn[ge][e]??e).split("|");return(An.select(t.n)==="one"?s:n).replace(/\{(\w+)\}/g,(a,i)=>{let l=t[i];return typeof l=="number"?G(l):String(l??"")})}var U=(e,t)=>Object.hasOwn(cs,`${e}.${t}`)?r(`${e}.${t}`):t,G=e=>qn.format(e),Nn=e=>e.toLocaleString(ge,{style:"percent"});function ve(e){return e<1e3?G(e):e<999950?`${Tt.format(e/1e3)}k`:`${Tt.format(e/1e6)}M`}function Y(e){let t=e>=.1||e===0?2:4;return`$${new Intl.NumberFormat(ge,{minimumFractionDigits:t,maximumFractionDigits:t}).format(e)}`}var Ot=({cost_usd:e,unpriced:t,estimated:s})=>t?e?`≥ ${Y(e)}`:r("cost.none"):`${s?"≈ ":""}${Y(e)}`;function ie(e){let t=Math.max(0,Math.floor(e/1e3)),[s,n]=t<90?[1,"s"]:t<5400?[60,"min"]:t<172800?[3600,"h"]:[86400,"d"];return`${G(Math.floor(t/s))} ${n}`}var Xe=e=>e<1e4?`${Tt.format(e/1e3)} s`:ie(e),Se=e=>e?us.format(new Date(e)):"",Ae=e=>e?Dn.format(new Date(e)):"";function ms(e,t){let s=Date.parse(e);return s?t-s<6e4?r("time.now"):t-s<12*36e5?r("time.ago",{span:ie(t-s)}):`${jn.format(s)} ${us.format(s)}`:""}var na=/[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb]|[\u{e0000}-\u{e0fff}]|[\ud800-\udfff]/gu,oa=/(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90\x98\x9c-\x9f]*(?:\x07|\x1b\\|\x9c)|\x1b[ -/]+[0-~]|\x1b[0-Z=>^-~]/g,aa=/^[\x20-\x7e\n\t]*$/,L=e=>typeof e=="string"?e:(e??null)===null?"":JSON.stringify(e);function y(e){let t=L(e);return aa.test(t)?t:t.replace(/\r\n/g,`
`).replace(na,(s,n,a)=>{if(s==="‍"&&/\p{Extended_Pictographic}[\ufe0f\u{1f3fb}-\u{1f3ff}]*$/u.test(a.slice(Math.max(0,n-8),n)))return s;let i=s.codePointAt(0);return i<256?`\\x${i.toString(16).padStart(2,"0")}`:`\\u${i.toString(16).padStart(4,"0")}`})}var qe=e=>y(L(e).replace(oa,"").replace(/\r\n?/g,`
`));function $(e,t){let s=y(e).replace(/\s+/g," ").trim();if(s.length<=t)return s;let n=Array.from(s);if(n.length<=t)return s;let a=Math.floor((t-1)/3);return`${n.slice(0,t-1-a).join("")}…${a?n.slice(-a).join(""):""}`}var ia=new Set([...dn,"checked"]);function Mt(e){let t=[];for(let s of e)_s(t,s);return t}function Le(e,t,s,n=400){for(let a=e.length-1;a>=Math.max(0,e.length-n);a-=1)if(t(e[a]))return e[a]={...e[a],...s(e[a])},e[a];return null}var hs=e=>typeof e=="number"?e:0,gs=({decision:e,by:t,words:s,reason:n,way_out:a})=>e==="deny"&&{text:L(t==="user"?s:n).split("; go on without it,")[0],wayOut:L(a)},fs=e=>t=>t.kind==="call"&&t.id===e;function _s(e,t){let{seq:s,ts:n,agent_id:a,turn:i,type:l}=t,c=typeof t.data=="object"&&t.data!==null?t.data:{},d=(f,h)=>e.push({seq:s,ts:n,agent:a||"",turn:i,kind:f,...h}),p=f=>f.kind==="turn"&&f.agent===a&&f.turn===i,u=(f,h,m)=>({id:L(c.id),name:L(c.name),subject:f,args:h,end:m,asked:null});switch(l){case"message":{let f=L(c.text);c.kind==="response"&&Le(e,h=>h.kind==="said"&&h.agent===c.from,h=>({repeated:h.repeated||h.text===f&&!h.thinking}),8),d(c.from!=="user"?"mail":c.origin&&c.origin!=="user"?"told":"prompt",{mail:L(c.kind),from:L(c.from),to:L(c.to),text:f,images:Array.isArray(c.images)?c.images.length:0});break}case"assistant_message":{let f=Array.isArray(c.message?.parts)?c.message.parts:[],h=(b,k)=>f.filter(g=>g?.type===b).map(g=>L(g.text)).join(k),m=h("text",""),_=h("thinking",`
`);return(m||_)&&d("said",{text:m,thinking:_}),m}case"tool_start":d("call",u(rs(L(c.name),c.args),c.args,null));break;case"tool_end":{let f={ok:!!c.ok,output:L(c.output),exit:c.exit_code??null,ms:c.duration_ms||0,error:c.error?.kind||"",notice:c.notice||""};Le(e,fs(c.id),()=>({end:f}))||d("call",u("",null,f));break}case"permission_request":Le(e,fs(c.call_id),()=>({asked:{decision:""}}));break;case"permission_decision":Le(e,fs(c.call_id),()=>({asked:{decision:L(c.decision),scope:L(c.scope),why:gs(c)}}))||d("note",{type:l,data:c});break;case"turn_start":d("turn",{cost:0,steps:0,tokens:0});break;case"usage":{let{input_tokens:f=0,output_tokens:h=0,cache_read_tokens:m=0,cache_write_tokens:_=0}=c.usage||{};Le(e,p,({cost:b,steps:k,tokens:g})=>({cost:b===null||c.cost_usd===null?null:b+hs(c.cost_usd),steps:k+1,tokens:[f,h,m,_].map(hs).reduce((v,O)=>v+O,g)}));break}case"turn_end":d("end",{status:L(c.status),began:Le(e,p,()=>({}),4e3)});break;case"rewound":{let f=hs(c.to);for(let m=e.length-1;m>=0&&e[m].seq>f;m-=1)e[m].agent===a&&(e[m]={...e[m],gone:!0});let h=e[e.length-1];(h?.type!==l||h.data.to!==f)&&d("note",{type:l,data:{to:f}});break}default:ia.has(l)&&d("note",{type:l,data:c})}return""}var ra=4e4,Pn=500,la=1e4,Be=class{constructor(t,{state:s,...n}){Object.assign(this,{path:t,state:s,on:n,retry:Pn,closed:!1}),this.wake=()=>{document.visibilityState==="visible"&&this.isSilent()&&this.open()},this.back=()=>this.open(),document.addEventListener("visibilitychange",this.wake),addEventListener("online",this.back),this.watch=setInterval(()=>{this.source&&this.isSilent()&&this.fail()},5e3),this.open()}isSilent(){return Date.now()-this.heard>ra}open(){if(this.closed)return;this.drop(),this.heard=Date.now();let t=new EventSource(Pe+this.path());this.source=t;let s=(n,a)=>t.addEventListener(n,i=>{this.heard=Date.now(),this.retry=Pn,a(i)});s("open",()=>this.state("live")),s("ping",()=>{}),s("end",()=>this.end());for(let[n,a]of Object.entries(this.on))s(n,i=>a(JSON.parse(i.data)));t.onerror=()=>{this.source===t&&this.fail(t.readyState===EventSource.CLOSED)}}async fail(t=!1){if(this.drop(),t&&await this.isOver()){this.end();return}this.closed||(this.state("lost"),clearTimeout(this.timer),this.timer=setTimeout(()=>this.open(),this.retry),this.retry=Math.min(this.retry*2,la))}async isOver(){let t=new AbortController;try{return(await fetch(Pe+this.path(),{headers:{accept:"text/event-stream"},signal:t.signal,cache:"no-store"})).status===204}catch{return!1}finally{t.abort()}}drop(){clearTimeout(this.timer),this.source?.close(),this.source=null}end(){this.close(),this.state("ended")}close(){this.closed=!0,this.drop(),clearInterval(this.watch),document.removeEventListener("visibilitychange",this.wake),removeEventListener("online",this.back)}};var At=class{constructor(t,s){this.state=t,this.draw=s,this.queued=!1}set(t){Object.assign(this.state,t),this.touch()}touch(){this.queued||(this.queued=!0,requestAnimationFrame(()=>{this.queued=!1,this.draw(this.state)}))}},Z=500,ca=250,da=65536,ua=6e4,Rn=({text:e="",thinking:t="",output:s={}})=>({text:e,thinking:t,output:new Map(Object.entries(s)),note:null}),Ye=class e{constructor(t,s){Object.assign(this,{id:t,touch:s,status:"loading",problem:null,connection:"connecting",lostSince:0,board:Et(),events:[],first:0,blocks:[],facts:0,lanes:0,words:0,live:new Map,replay:null,older:!1,checkpoints:new Map([[0,Et()]]),pages:new Map,finished:"",offline:!1})}static of(t,s){let n=new e(s.id||"",()=>{});return Object.assign(n,{offline:!0,status:"ready",first:1,events:t.map(wt)}),n.board=Je(n.events),n.rebuild(),n}async open(){try{let t=await X(`/sessions/${this.id}/board`),s=Math.max(0,Math.floor((t.seq-1)/Z)-1)*Z,n=t.seq?await xt(this.id,{after:s,limit:4*Z}):[];if(this.closed)return;this.first=s+1,this.events=n,this.board=Je(n.filter(a=>a.seq>t.seq),t),this.rebuild(),this.status="ready",this.follow()}catch(t){Object.assign(this,{status:"error",problem:t})}this.touch()}follow(){this.hide=()=>{clearTimeout(this.hiding),document.visibilityState==="hidden"?this.hiding=setTimeout(()=>this.pause(),ua):this.stream||this.connect()},document.addEventListener("visibilitychange",this.hide),this.connect()}pause(){this.stream?.close(),this.stream=null}connect(){this.closed||(this.stream=new Be(()=>`/sessions/${this.id}/events?after=${this.board.seq}`,{message:t=>this.hear(t),live:t=>this.join(t),reset:()=>this.onreset(),state:t=>{t==="lost"&&this.connection!=="lost"&&(this.lostSince=Me.now()),this.connection=t,this.touch()}}))}wake(){this.connection==="ended"&&this.connect()}hear(t){t.seq===null?this.hearDelta(t):t.seq>this.board.seq&&this.hearFact(wt(t))}hearFact(t){this.board=is(this.board,t),t.seq%Z===0&&this.checkpoints.set(t.seq,this.board),this.events.push(t);let s=_s(this.blocks,t);s&&(this.finished=s),this.facts+=1;let{agent_id:n,type:a,data:i}=t,l=this.live.get(n);l&&((a==="assistant_message"||a==="turn_end")&&Object.assign(l,{text:"",thinking:"",note:null}),a==="tool_end"&&l.output.delete(i.id),(a==="turn_end"||a==="agent_ended")&&this.live.delete(n)),this.drawLanes(),this.touch()}drawLanes(){if(this.waiting)return;let t=()=>{this.waiting=0,this.drawn=Date.now(),this.lanes+=1,this.touch()},s=(this.drawn||0)+ca-Date.now();s<=0?t():this.waiting=setTimeout(t,s)}hearDelta({agent_id:t,type:s,data:n}){this.live.has(t)||this.live.set(t,Rn({}));let a=this.live.get(t),i=(l,c)=>(l+c).slice(-da);if(s==="text_delta")a.text=i(a.text,n.text);else if(s==="thinking_delta")a.thinking=i(a.thinking,n.text);else if(s==="tool_progress")a.output.set(n.id,i(a.output.get(n.id)||"",n.text));else if(s==="compacting")a.note={state:s};else if(s==="status"&&n.component==="model")n.state==="discarded"&&Object.assign(a,{text:"",thinking:""}),a.note=n.state==="discarded"||n.detail?n:null;else return;this.words+=1,this.touch()}join(t){this.live=new Map(Object.entries(t).map(([s,n])=>[s,Rn(n)])),this.words+=1,this.touch()}rebuild(){this.blocks=Mt(this.events),this.facts+=1,this.lanes+=1}async loadOlder(t=this.first-Z){if(!(this.older||this.first<=1||this.offline)){this.older=!0,this.touch();try{let s=Math.max(0,Math.floor((Math.max(1,t)-1)/Z)*Z),n=[],a=s;for(;a<this.first-1;){let i=await xt(this.id,{after:a,before:Math.min(this.first,a+5001),limit:5e3});if(!i.length)break;n.push(...i),a=i[i.length-1].seq}this.events=[...n,...this.events],this.first=s+1,this.rebuild()}finally{this.older=!1,this.touch()}}}async show(t){let s=t===null||t>=this.board.seq?null:Math.max(1,t);this.asked=s;let n=null;if(s!==null){let a=Math.floor((s-1)/Z)*Z,[i,l]=await Promise.all([this.findCheckpoint(a),this.findPage(a)]);if(this.asked!==s||this.closed)return;let c=l.filter(d=>d.seq<=s);n={seq:s,board:Je(c,i),events:[...this.pages.get(a-Z)||[],...c]}}this.replay=n,this.lanes+=1,this.touch()}async findCheckpoint(t){if(!this.checkpoints.has(t)){let s=t;for(;s>0&&!this.checkpoints.has(s);)s-=Z;let n=this.first-1<=s&&this.events.length;this.checkpoints.set(t,n?Je(this.find(s,t),this.checkpoints.get(s)):await X(`/sessions/${this.id}/board?at=${t}`))}return this.checkpoints.get(t)}find(t,s){return this.events.filter(n=>n.seq>t&&n.seq<=s)}async findPage(t){return this.first-1<=t?this.find(t,t+Z):(this.pages.has(t)||this.pages.set(t,await xt(this.id,{after:t,before:t+Z+1,limit:Z})),this.pages.get(t))}close(){this.closed=!0,this.pause(),clearTimeout(this.waiting),clearTimeout(this.hiding),this.hide&&document.removeEventListener("visibilitychange",this.hide)}};var In=8,ee=(e,t)=>{if(t==="user")return r("you");let s=e.agents.find(n=>n.id===t);return s?s.name||s.type:t||r("nobody")},qt=(e,t)=>{if(t==="user")return"you";let s=e.agents.findIndex(n=>n.id===t);return s<0?"none":`${s%In}${s>=In?" ring":""}`},pa={work:"●",tool:"●",waits:"◌",asks:"▲",idle:"○",failed:"✗",ended:"–"};function Dt(e,t){let s=e.questions.find(a=>a.agent_id===t.id),n=(a,i,l=t.since)=>({kind:a,mark:pa[a],word:i,since:l});if(t.status==="ended")return t.ended==="failed"?n("failed",r("state.failed")):n("ended",r("state.ended"));if(t.stopping)return n("work",r("state.stopping"));if(s)return n("asks",r("state.asks"),s.since);if(t.waits.length&&t.status!=="idle"){let a=[...new Set(t.waits.map(i=>ee(e,i.on)))];return n("waits",r("state.waits",{name:$(a.join(", "),28)}),t.waits[0].since)}if(t.status==="executing_tools"&&t.calls.length){let a=t.calls[t.calls.length-1];return n("tool",$(`${a.name} ${a.subject}`,48),a.since)}return t.status!=="idle"?n("work",r("state.thinking")):t.error&&t.last_turn==="failed"?n("failed",r("state.error",{kind:t.error.kind})):t.last_turn==="capped"?n("failed",r("turn.capped")):t.unread.length?n("idle",r("state.unread",{n:t.unread.length})):n("idle",r("state.idle"))}var re=e=>e.status!=="ended"&&e.status!=="idle";function Ln(e){let t=[];for(let n of e.agents){let a=[n.id],i=n;for(;i&&re(i);){let l=i.waits[0]?.on;if(!l||a.includes(l))break;a.push(l),i=e.agents.find(c=>c.id===l)}a.length>t.length&&(t=a)}let s=e.agents.find(n=>n.id===t[t.length-1]);return t.length>1&&!(s&&re(s)&&!s.waits.length)?t:[]}var Bn={running:"●",waiting:"▲",done:"✓",failed:"✗",interrupted:"◼","":"?"};var jt=["read-only","plan","ask","workspace","full"];function _e({board:e,id:t,length:s=28}){let n=ee(e,t);return o("bdi",{class:"name",title:y(n)},$(n,s))}function be({board:e,id:t}){let s=Array.from($(ee(e,t),40))[0]||"?";return o("span",{class:`badge hue-${qt(e,t)}`,"aria-hidden":"true"},s.toUpperCase())}var Fe=e=>[o(be,{...e}),o(_e,{...e})],te=({is:e})=>o("span",{class:"mark","aria-hidden":"true"},e),Nt=({added:e,removed:t})=>o("span",{class:"num changed"},o("span",{class:"ok"},"+",G(e))," ",o("span",{class:"error"},"−",G(t))),bs=({ts:e})=>o("time",{class:"num muted",datetime:y(e),title:Ae(e)},Se(e)),Ze=({word:e,mark:t,...s})=>o("button",{class:"icon","aria-label":r(e),...s},t),Qe=({act:e})=>o(Ze,{word:"close",mark:"×",onClick:e}),et=()=>o("a",{class:"button ask",href:"#/inbox"},r("answer")),oe=({words:e,children:t})=>o("div",{class:"empty"},o("p",null,e),t),se=({title:e,children:t,...s})=>o("details",{...s},o("summary",null,e),t),Ue=({children:e,label:t})=>o("pre",{class:"output",tabindex:"0","aria-label":t},e),ye=({rows:e,children:t})=>o("dl",{class:"facts"},e.filter(Boolean).map(([s,n,a],i)=>[o("dt",{key:i},s),o("dd",{...a},n)]),t),$e=e=>t=>e(t.target.value),ue=e=>t=>(t.preventDefault(),e(Object.fromEntries(new FormData(t.target)),t.target)),Ee=({label:e,children:t,hint:s})=>o("label",{class:"field"},o("span",{class:"label"},e),t,s&&o("span",{class:"hint"},s)),tt=({label:e,set:t,...s})=>o("label",{class:"check"},o("input",{type:"checkbox",onChange:n=>t(n.target.checked),...s})," ",e);function ae({label:e,hidden:t,of:s,say:n=c=>$(c,48),none:a,set:i,...l}){let c=o("select",{title:t&&e,onChange:i&&$e(i),...l},a&&o("option",{value:""},a),s.map(d=>o("option",{key:d,value:d},n(d))));return t?o("label",{class:"choice"},o("span",{class:"hidden"},e),c):o(Ee,{label:e},c)}function ne(){let[e,t]=E(!1);return[e,async s=>{t(!0);try{return await s()}finally{t(!1)}}]}function st({since:e,now:t}){let s=t-Date.parse(e);return Number.isFinite(s)?o("span",{class:"num",title:Ae(e)},ie(s)):null}function Pt({board:e,row:t,now:s}){let n=Dt(e,t),a=["work","tool","waits","asks"].includes(n.kind);return o("span",{class:`state ${n.kind}`,title:y(n.word)},o(te,{is:n.mark})," ",o("span",{class:"word"},n.word),a&&[" ",o(st,{since:n.since,now:s})])}var Rt=({state:e})=>o("span",{class:`state s-${e||"unknown"}`},o(te,{is:Bn[e]||"?"})," ",o("span",{class:"word"},U("session",e||"unknown")));function nt(){let[e,t]=E(!1);return B(()=>{let s=setTimeout(()=>t(!0),200);return()=>clearTimeout(s)},[]),o("div",{class:"skeleton",role:"status"},o("span",{class:"hidden"},r("loading")),e&&[0,1,2,3].map(s=>o("div",{class:"bar",key:s})))}function ke({problem:e,retry:t}){let s=e?.kind||"internal_error",n=s==="network"&&!e.message?r("error.away"):y(e?.message||String(e));return o("div",{class:"problem",role:"alert"},o(te,{is:"✗"}),o("div",null,o("p",null,o("strong",{class:"code"},y(s))," ",n),t&&o("button",{onClick:t},r("retry"))))}var pe=({of:e,retry:t})=>o("div",{class:"pad"},e.status==="loading"?o(nt,null):o(ke,{problem:e.problem,retry:t}));function ys({text:e,lines:t=3,tail:s=!0,label:n}){let[a,i]=E(!1),l=e.replace(/\n+$/,"").split(`
`),c=l.length<=t+1&&e.length<2e3,d=(s?l.slice(-t):l.slice(0,t)).map(p=>p.length>400?`${p.slice(0,400)}…`:p);return o("div",null,o(Ue,{label:n},(a||c?l:d).join(`
`)),!c&&o("button",{class:"link","aria-expanded":a,onClick:()=>i(!a)},a?r("fold"):r("showAll",{n:l.length})))}function It(e){let t=[...e.currentTarget.querySelectorAll("[data-stop]:not(:disabled)")],s=t.indexOf(e.target.closest("[data-stop]")),n={ArrowDown:s+1,ArrowUp:s-1,Home:0,End:t.length-1}[e.key];if(n===void 0)return;e.preventDefault();let a=t[Math.min(Math.max(n,0),t.length-1)];for(let i of t)i.tabIndex=i===a?0:-1;a?.focus()}var ma={sessions:"M2 4h12M2 8h12M2 12h8",inbox:"M2 9l2-6h8l2 6v4H2zM2 9h4l1 2h2l1-2h4",settings:"M2 5h6M12 5h2M2 11h2M8 11h6M10 3v4M6 9v4"},Fn=({size:e,path:t})=>o("svg",{width:e,height:e,viewBox:`0 0 ${e} ${e}`,"aria-hidden":"true"},o("path",{d:t})),Un=e=>e?"page":void 0;function Hn({state:e,act:t}){let{sessionStore:s,route:n,inbox:a}=e,i=s?.status==="ready"&&s.board;return o("header",{class:"topbar"},o("a",{class:"brand",href:"#/sessions","aria-label":r("nav.sessions")},o(Fn,{size:20,path:"M3 5h9M6 10h11M3 15h6"})),i&&o("div",{class:"where"},o("h1",{class:"clip",title:y(i.name)},o("bdi",null,$(i.name||s.id,32))),o(Rt,{state:i.state})),s?o("nav",{class:"tabs","aria-label":r("nav.session")},["team","conversation","changes"].map(l=>o("a",{key:l,href:`#/s/${s.id}/${l}`,"aria-current":Un(n.tab===l)},r(`nav.${l}`)))):o("h1",{class:"clip"},r(`nav.${n.screen}`)),o("span",{class:"grow"}),i&&[o(ae,{label:r("mode.label"),hidden:!0,of:[...new Set([i.mode,...jt])].filter(Boolean),say:l=>U("mode",l),value:i.mode,set:l=>t.changeMode(l)}),o(ha,{board:i})],(i.state==="running"||i.state==="waiting")&&o("button",{class:"stop",onClick:()=>t.interrupt("")},r("stop")),o("nav",{class:"global","aria-label":r("nav.label")},Object.entries(ma).map(([l,c])=>{let d=l==="inbox"&&a.items.length;return o("a",{key:l,class:d?"has-mail":"",href:`#/${l}`,"aria-current":Un(n.screen===l)},o(Fn,{size:16,path:c}),o("span",{class:"label"},r(`nav.${l}`)),d>0&&o("span",{class:"pill num","aria-label":r("inbox.count",{n:d})},G(d)))})))}function ha({board:e}){let{limit_usd:t,spent_usd:s=0}=e.budget||{};if(!t)return o("span",{class:"budget num",title:e.unpriced?r("cost.unpriced",{n:e.unpriced}):r("cost.whole")},Ot(e));let n=r("budget",{spent:Y(s||0),limit:Y(t)});return o("span",{class:`budget num${s>=.8*t?" near":""}`,title:n},o("progress",{max:"1",value:Math.min(1,s/t),"aria-label":n}),Y(s||0)," ",o("span",{class:"muted"},"/ ",Y(t)))}function Wn({sessionStore:e,inbox:t,now:s}){if(e?.connection==="ended")return o("div",{class:"bar",role:"status"},r("conn.ended"));let n=[e,t].find(a=>a?.connection==="lost");return n?o("div",{class:"bar lost",role:"status"},r("conn.lost",{span:ie(s-n.lostSince)})):null}var zn=({items:e,dismiss:t})=>o("div",{class:"toasts",role:"status","aria-live":"polite"},e.map(s=>o("div",{class:`toast ${s.kind}`,key:s.id},o("span",null,o("strong",{class:"code"},y(s.title))," ",y(s.words)),o(Qe,{act:()=>t(s.id)})))),fa={"?":"keys.help",t:"nav.team",c:"nav.conversation",d:"nav.changes",i:"nav.inbox",s:"nav.sessions","/":"keys.find",m:"keys.compose","Shift X":"keys.stop","← →":"keys.pan","+ −":"keys.zoom","↑ ↓":"keys.rows",Esc:"keys.close"};function Kn({close:e}){let t=J(null);return B(()=>t.current.showModal(),[]),o("dialog",{class:"help",ref:t,onClose:e,"aria-labelledby":"help-title"},o("header",{class:"row"},o("h2",{id:"help-title",class:"grow"},r("help")),o(Qe,{act:()=>t.current.close()})),o(ye,{rows:Object.entries(fa).map(([s,n])=>[o("kbd",null,s),r(n)])}))}var Vn=12,ks=3e3,ga=25e4;function ot(e){let t=[],s=0,n=0,a=0,i=0,l="";for(let c of e.replace(/\n$/,"").split(`
`)){let d=/^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(c),[p]=c;if(d)[s,a,n,i]=d.slice(1).map(u=>Number(u??1)),t.push({kind:"hunk",text:c});else if(p==="\\"||p==="[")t.push({kind:"hunk",text:c});else if(a<=0&&i<=0)/^(---|\+\+\+) [^/]/.test(c)&&(l=c.slice(6)),c.startsWith("+++")&&t.push({kind:"file",text:l});else{let u={kind:p==="+"?"add":p==="-"?"del":"same",text:c.slice(1)};p!=="+"&&([u.old,s,a]=[s,s+1,a-1]),p!=="-"&&([u.new,n,i]=[n,n+1,i-1]),t.push(u)}}return t}function xs(e,t){let[s,n]=[e,t].map(p=>p===""?[]:p.replace(/\n$/,"").split(`
`)),a=(p,u)=>u.map(f=>({kind:p,text:f}));if(s.length*n.length>ga)return[...a("del",s),...a("add",n)];let i=Array.from({length:s.length+1},()=>new Uint16Array(n.length+1));for(let p=s.length-1;p>=0;p-=1)for(let u=n.length-1;u>=0;u-=1)i[p][u]=s[p]===n[u]?i[p+1][u+1]+1:Math.max(i[p+1][u],i[p][u+1]);let l=[],c=0,d=0;for(;c<s.length&&d<n.length;)s[c]===n[d]?(l.push({kind:"same",text:s[c++]}),d+=1):i[c+1][d]>=i[c][d+1]?l.push({kind:"del",text:s[c++]}):l.push({kind:"add",text:n[d++]});return[...l,...a("del",s.slice(c)),...a("add",n.slice(d))]}var Gn=e=>({added:e.filter(t=>t.kind==="add").length,removed:e.filter(t=>t.kind==="del").length}),vs=e=>e.filter(t=>t.kind==="file").length,ws={add:["+","diff.added"],del:["−","diff.removed"]};function De({rows:e,all:t=!1}){let[s,n]=E(t),a=vs(e)>1,i=e.filter(d=>a||d.kind!=="file"),l=i.some(d=>d.old||d.new),c=d=>l&&o("td",{class:"ln","aria-hidden":"true"},d||"");return o("div",{class:"diff-box"},o("div",{class:"diff",tabindex:"0",role:"group","aria-label":r("diff")},o("table",null,o("tbody",null,i.slice(0,s?ks:Vn).map(({kind:d,...p},u)=>o("tr",{class:d,key:u},c(p.old),c(p.new),o("td",{class:"sign"},ws[d]?.[0],ws[d]&&o("span",{class:"hidden"},r(ws[d][1])," ")),o("td",null,qe(p.text))))))),i.length>Vn&&!s&&o("button",{class:"link",onClick:()=>n(!0)},r("showAll",{n:i.length})),s&&i.length>ks&&o("p",{class:"strong"},r("diff.hidden",{n:i.length-ks})))}var Jn={agent:"agent",turn:"turn",call:"call_id"},je=e=>`${e.call_id}/${e.path}`,Xn=e=>r("changes.files",{n:new Set(e.map(t=>t.path)).size}),Yn=(e,t)=>e==="user"?r("you"):$(e,t);function Zn({sessionStore:e,act:t,params:{agent:s,call:n}}){let[a,i]=E({status:"loading",items:[]}),[l,c]=E(n?"call":"agent"),[d,p]=E(""),[u,f]=E(null),[h,m]=E(null),[_,b]=E(null),[k,g]=ne(),v=`/sessions/${e.id}`,O=J(0),S=()=>{O.current+=1;let x=O.current,P=R=>{x===O.current&&i(R)};return X(`${v}/changes`).then(({items:R})=>P({status:"ready",items:R}),R=>P({status:"error",items:[],problem:R}))};B(()=>{S()},[e,e.board.counts.file_changes]);let{items:w}=a;if(a.status!=="ready")return o(pe,{of:a,retry:S});if(!w.length)return o(oe,{words:r("changes.empty")},o("a",{class:"button",href:`#/s/${e.id}/conversation`},r("nav.conversation")));let N=w.filter(x=>!x.undone&&(u?u.has(je(x)):x.call_id===n||x.agent===s)),I=w.find(x=>je(x)===d)||N[N.length-1]||w[w.length-1],z=[...Map.groupBy(w,x=>x[Jn[l]])],H=(x,{path:P})=>l==="agent"?Yn(x,28):l==="turn"?r("changes.turn",{n:x}):`${$(P.split("/").pop(),20)} · ${$(x,10)}`,we=(x,P)=>{let R=new Set(N.map(je));for(let F of x)R[P?"add":"delete"](je(F));f(R),m(null)},C=(x,P,R)=>{let F=x.filter(j=>!j.undone),q=F.filter(j=>N.includes(j)).length;return o("input",{type:"checkbox","data-stop":!0,tabindex:R?0:-1,"aria-label":P,disabled:!F.length,checked:q>0&&q===F.length,indeterminate:q>0&&q<F.length,onChange:({target:j})=>we(F,j.checked)})},D=x=>()=>g(()=>t.attempt(x)),W=D(async()=>m(await K(`${v}/undo/plan`,{selection:{files:N.map(x=>({call:x.call_id,path:x.path}))}}))),Te=D(async()=>{b(await K(`${v}/undo`,{plan_id:h.plan_id})),m(null),f(new Set),await S()}),T=x=>{let P=h?.conflicts.find(F=>F.path===x.path&&N.includes(x)),R=x.undone?r("changes.undone"):x.undoes.length?r("changes.undo"):"";return o("li",{class:`change${x===I?" on":""}`,key:je(x)},C([x],y(x.path)),o("button",{class:"grow","data-stop":!0,tabindex:"-1","aria-pressed":x===I,onClick:()=>{p(je(x)),m(null)}},o("span",{class:"code grow clip",title:y(x.path)},$(x.path,24)),R&&o("span",{class:"muted"},R),o(Nt,{...x}),P&&o("span",{class:"warn",title:y(P.reason)},"⚠")))};return o("div",{class:"changes"},o("section",{class:"changes-list","aria-label":r("nav.changes")},o("div",{class:"segmented",role:"group","aria-label":r("by")},Object.keys(Jn).map(x=>o("button",{key:x,"aria-pressed":l===x,onClick:()=>c(x)},r(`by.${x}`)))),o("div",{class:"row"},o("button",{disabled:k||!N.length,onClick:W},r("undo.look")),o("span",{class:"muted grow"},N.length?Xn(N):r("undo.tick"))),o("div",{onKeyDown:It},z.map(([x,P],R)=>o("section",{key:x,"aria-label":H(x,P[0])},o("h2",{class:"change"},C(P,H(x,P[0]),R===0),l==="agent"&&o(be,{board:e.board,id:e.board.agents.find(F=>F.name===x)?.id||"user"}),o("bdi",{class:"grow"},H(x,P[0])),o("span",{class:"muted num"},Xn(P))),o("ul",{class:"plain"},P.map(T)))))),o("section",{class:"changes-diff","aria-label":y(I.path)},_&&o("p",{class:"box ok",role:"status"},r("undo.done",{n:_.files.length})," ",o("a",{class:"code",href:`#/s/${e.id}/changes?call=${_.call_id}`},$(_.call_id,12))),h?o(_a,{plan:h,busy:k,take:Te,leave:()=>m(null)}):[o("header",{class:"row"},o("h2",{class:"code grow clip",title:y(I.path)},$(I.path,60)),o("span",{class:"muted"},Yn(I.agent,24)," · ",r("changes.turn",{n:I.turn})," · ",o("span",{class:"code"},$(I.call_id,12)))),I.diff?o(De,{key:je(I),rows:ot(I.diff),all:!0}):o("p",{class:"muted"},r("changes.lost"))]))}function _a({plan:e,busy:t,take:s,leave:n}){let a=ot(e.diff);return o("section",{class:"undo","aria-label":r("undo.plan")},o("div",{class:"row"},o("h3",{class:"grow"},r("undo.plan")),o("button",{onClick:n},r("cancel")),o("button",{class:"primary",disabled:t||!e.diff,onClick:s},r("undo.take",{n:vs(a)||1}))),e.conflicts.length>0&&o("ul",{class:"plain warn"},e.conflicts.map(i=>o("li",{key:i.path},"⚠ ",o("span",{class:"code"},y(i.path))," ",y(i.reason)))),e.diff?o(De,{rows:a}):o("p",{class:"muted"},r("undo.none")),e.commands.length>0&&o(se,{title:r("undo.commands",{n:e.commands.length})},o("ul",{class:"plain"},e.commands.map((i,l)=>o("li",{class:"code",key:l},y(i))))))}var ba=2e4,ya=new Set(`and as assert async await break case catch class const continue def default defer del do elif else end enum except export extends
 False final finally fn for from func function go if impl import in interface is let lambda match mod mut new nil None nonlocal not null or package pass private
 protected public raise return self static struct super switch then this throw trait True true false try type typeof undefined use var void where while with yield`.split(/\s+/)),ka=/^(py|python|sh|bash|shell|zsh|rb|ruby|yaml|yml|toml|make|makefile|dockerfile|r|perl|conf|ini|console|)$/i,wa={"+":"add","-":"del","@":"num"},xa=["com","str","num"];function va(e,t){if(e.length>ba||/^(text|txt|plain|output|log)$/i.test(t))return[["",e]];if(/^(diff|patch)$/i.test(t))return e.split(/(?<=\n)/).map(l=>[wa[l[0]]||"",l]);let s=ka.test(t)?"#[^\\n]*":"//[^\\n]*|/\\*[^]*?(?:\\*/|$)",n=new RegExp(`(${s})|("(?:[^"\\\\\\n]|\\\\.)*"?|'(?:[^'\\\\\\n]|\\\\.)*'?|\`(?:[^\`\\\\]|\\\\.)*\`?)|(\\b\\d[\\w.]*)|[A-Za-z_$][\\w$]*`,"g"),a=[],i=0;for(let l of e.matchAll(n)){let c=xa[l.slice(1).findIndex(d=>d!==void 0)]||ya.has(l[0])&&"kw";c&&(a.push(["",e.slice(i,l.index)],[c,l[0]]),i=l.index+l[0].length)}return[...a,["",e.slice(i)]]}var Sa=globalThis.requestIdleCallback||(e=>setTimeout(e,50));function Qn({code:e,language:t=""}){let s=J(null),[n,a]=E(null),i=y(e);return B(()=>{a(null);let l=new IntersectionObserver(c=>{c.some(d=>d.isIntersecting)&&(l.disconnect(),Sa(()=>s.current&&a(va(i,t))))});return l.observe(s.current),()=>l.disconnect()},[i,t]),o("pre",{class:"code-block",ref:s,tabindex:"0","aria-label":t?r("code.of",{language:t}):r("code")},o("code",null,n?n.map(([l,c],d)=>l?o("span",{class:`hl-${l}`,key:d},c):c):i))}var $a=1e4,oo=5;function eo(e,t=0){let s=[],n=[],a="",i=t,l=t,c=()=>{n.length&&s.push({text:n.join(`
`),at:i}),n=[]};for(let d of e.slice(t).split(`
`)){n.length||(i=l),l+=d.length+1;let p=/^ {0,3}(`{3,}|~{3,})/.exec(d);a?(n.push(d),p&&p[1].startsWith(a)&&d.trim()===p[1]&&(a="",c())):p?(c(),i=l-d.length-1,a=p[1],n.push(d)):d.trim()?n.push(d):c()}return c(),s}function Ea(e){let t=e.trim();if(!/^(https?:\/\/|mailto:)/i.test(t)||y(t)!==t)return"";try{let{protocol:s}=new URL(t);return["http:","https:","mailto:"].includes(s)?t:""}catch{return""}}var to=(e,t)=>{let s=Ea(e);return s?o("a",{href:s,target:"_blank",rel:"noopener noreferrer nofollow",title:y(s)},t):o("span",null,t," ",o("span",{class:"muted"},"(",y(e),")"))},Ca={"**":"strong",__:"strong","~~":"del","*":"em",_:"em"},Ta=/(`+)|(\*\*|__|~~|[*_])|(!?)\[([^[\]\n]{0,300})\]\(([^()\s]{1,1000})\)|https?:\/\/[^\s<>()[\]{}"'`*]{1,1000}|\\([\\`*_{}[\]()#+\-.!~|>])/g;function Ce(e,t=0){if(t>oo||e.length>$a)return[y(e)];let s=[],n=new RegExp(Ta.source,"g"),a=0,i=new Set,l=c=>{c>a&&s.push(y(e.slice(a,c)))};for(let c=n.exec(e);c;c=n.exec(e)){let[d,p,u,f,h,m,_]=c,b=c.index,k=b+d.length,g=null;if(p||u){let v=p||u,O=b+v.length,S=i.has(v)?-1:e.indexOf(v,O);S<0&&i.add(v);let w=S>O?e.slice(O,S):"",N=v[0]==="_"&&(/\w/.test(e[b-1]||"")||/\w/.test(e[S+v.length]||""));w&&p?g=o("code",null,y(w.trim()||w)):w&&!N&&!/^\s|\s$/.test(w)&&(g=o(Ca[v],null,Ce(w,t+1))),g&&(k=S+v.length)}else if(_)g=_;else if(m)g=to(m,f?r("md.image",{alt:y(h)}):Ce(h||m,t+2));else{let v=d.replace(/[.,;:!?]+$/,"");g=to(v,y(v)),k=b+v.length}n.lastIndex=k,g&&(l(b),s.push(g),a=k)}return l(e.length),s}var ao=/^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;function so(e){let t=[];for(let a of e){let i=ao.exec(a);i?t.push({depth:Math.min(4,Math.floor(i[1].replace(/\t/g,"  ").length/2)),ordered:/\d/.test(i[2]),number:parseInt(i[2],10),words:[i[3]]}):t.length&&t[t.length-1].words.push(a.trim())}let s=(a,i)=>{let l=[],c=a;for(;c<t.length&&t[c].depth>=i;){let p=t[c],[u,f]=c+1<t.length&&t[c+1].depth>p.depth?s(c+1,t[c+1].depth):[null,c+1],h=/^\[([ xX])\]\s+(.*)$/.exec(p.words[0]),m=(h?[`${h[1]===" "?"☐":"☑"} ${h[2]}`,...p.words.slice(1)]:p.words).join(`
`);l.push(o("li",null,Ce(m),u)),c=f}let d=t[a];return[d.ordered?o("ol",{start:d.number},l):o("ul",null,l),c]},n=[];for(let a=0;a<t.length;){let[i,l]=s(a,t[a].depth);n.push(i),a=l}return n}var no=e=>e.trim().replace(/^\||\|$/g,"").split("|").slice(0,40).map(t=>t.trim());function Oa(e){let t=no(e[0]);return o("div",{class:"table-box",tabindex:"0",role:"region","aria-label":r("md.table")},o("table",null,o("thead",null,o("tr",null,t.map(s=>o("th",{scope:"col"},Ce(s))))),o("tbody",null,e.slice(2,500).map(s=>o("tr",null,no(s).map(n=>o("td",null,Ce(n))))))))}function Ss(e,t=0){let s=e.split(`
`),n=/^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]{0,30})/.exec(s[0]);if(n){let l=s.length>1&&s[s.length-1].trim().startsWith(n[1]);return o(Qn,{code:s.slice(1,l?-1:void 0).join(`
`),language:n[2]})}let a=/^ {0,3}(#{1,6})\s+(.*?)\s*#*$/.exec(s[0]);if(a)return[o("p",null,o("strong",null,Ce(a[2]))),s.length>1&&Ss(s.slice(1).join(`
`),t)];if(/^ {0,3}([-*_])(\s*\1){2,}\s*$/.test(s[0]))return o("hr",null);if(s[0].startsWith(">")&&t<oo)return o("blockquote",null,Ss(s.map(l=>l.replace(/^>\s?/,"")).join(`
`),t+1));if(s.length>1&&s[0].includes("|")&&/^[\s|:-]+$/.test(s[1])&&s[1].includes("-"))return Oa(s);let i=s.findIndex(l=>ao.test(l));return i===0?so(s):i>0&&i<s.length?[o("p",null,Ce(s.slice(0,i).join(`
`))),so(s.slice(i))]:o("p",null,Ce(e))}var Lt=class extends le{shouldComponentUpdate({text:t}){return t!==this.props.text}render({text:t}){return o("div",{class:"md"},Ss(t))}},He=class extends Lt{render({text:t}){let{before:s,blocks:n}=this,a=n?.length&&t.startsWith(s)?n[n.length-1].at:0;return this.blocks=a?[...n.slice(0,-1),...eo(t,a)]:eo(t),this.before=t,o("div",{class:"md"},this.blocks.map((i,l)=>o(Lt,{key:l,text:i.text})))}};var io=100,at=80,ro=320,Ma=60,lo=64,$s={from:null,to:null},Aa=({state:e,detail:t})=>{let s=U("live",e);return s===e?y(t||e):s},Cs=e=>Object.hasOwn(es,e)&&es[e];function co({sessionStore:e,act:t,seq:s=null,agent:n="",words:a,facts:i}){let[l,c]=E(n),[d,p]=E(""),[u,f]=E(n);if(B(()=>{n&&(c(n),f(n))},[n]),e.status!=="ready")return o(pe,{of:e,retry:()=>t.reopen()});let{board:h}=e,m=h.agents.filter(b=>b.status!=="ended"),_=(b,k)=>o("button",{class:"chip",key:b,"aria-pressed":l===b,onClick:()=>c(l===b?"":b)},k);return o("div",{class:"conversation"},o("div",{class:"filters"},o("div",{class:"chips",role:"group","aria-label":r("conv.filter")},_("",r("conv.all")),h.agents.filter(b=>m.includes(b)||l===b.id).map(b=>_(b.id,o(Fe,{board:h,id:b.id,length:18})))),o("input",{id:"find",type:"search",value:d,placeholder:r("conv.find"),"aria-label":r("conv.find"),onInput:$e(p)})),o(Ts,{sessionStore:e,board:h,facts:i,words:a,only:l,find:d,seq:s,act:t}),t&&o(qa,{busy:m.some(re),agents:m,to:u,choose:f,send:(b,k)=>t.prompt(b,k)}))}function qa({busy:e,agents:t,to:s,choose:n,send:a}){let[i,l]=E(""),[c,d]=ne(),p=J(null),u=c||!i.trim(),f=e&&!s,h=async b=>{if(u)return;await d(()=>a(i,{...s&&{agent:s},...f&&!b&&{steer:!0}}))||(l(""),p.current&&(p.current.style.height="")),p.current?.focus()},m=b=>{b.key==="Escape"&&b.currentTarget.blur(),!(b.key!=="Enter"||b.shiftKey||b.isComposing)&&(b.preventDefault(),h(b.ctrlKey||b.metaKey))},_=({target:b})=>{l(b.value),b.style.height="auto",b.style.height=`${Math.min(b.scrollHeight+2,200)}px`};return o("form",{class:"composer",onSubmit:ue(()=>h(!1))},o("textarea",{id:"composer",ref:p,rows:"1",value:i,onInput:_,onKeyDown:m,"aria-label":r("say.label"),title:r("say.hint"),placeholder:r(e?"say.busy":"say.idle")}),o(ae,{label:r("say.to"),hidden:!0,none:r("say.team"),of:t.map(b=>b.id),say:b=>$(t.find(k=>k.id===b).name,24),value:s,set:n}),f&&o("button",{type:"button",disabled:u,onClick:()=>h(!0)},r("say.queue")),o("button",{class:"primary",disabled:u},r(f?"say.steer":"say.send")))}function Da(e,t,s,n){let{kind:a}=e;return a==="turn"||a==="end"&&e.status==="completed"&&(e.agent!==n||s||t)||t&&e.agent!==t&&e.from!==t&&e.to!==t?!1:s?[e.text,e.name,e.subject,e.end?.output].join(`
`).toLowerCase().includes(s):!e.repeated&&!(a==="call"&&Cs(e.name)==="message"&&e.end?.ok)}function Ts({sessionStore:e,board:t,facts:s,words:n,only:a="",find:i="",seq:l=null,act:c,blocks:d=e.blocks}){let p=i.trim().toLowerCase(),u=t.agents[0]?.id,f=he(()=>d.filter(C=>Da(C,a,p,u)),[s,a,p,d]),[h,m]=E({...$s}),_=J(null),b=J(!0),k=J(null),g=J(0),v=C=>({from:Math.max(0,Math.min(C,f.length)-io-at),to:C>=f.length?null:C});if(g.current){let C=f.findIndex(D=>D.seq===g.current);g.current=0,Object.assign(h,v(C+1))}let O=h.to===null?f.length:Math.min(h.to,f.length),S=Math.max(0,h.from===null?O-io:Math.min(h.from,O)),w=J(null),N=f.reduce((C,D)=>D.kind==="prompt"?D.seq:C,0);B(()=>{w.current===null&&(m({...$s}),b.current=!0)},[a,p,e,N]),B(()=>{l!==null&&(w.current=l,b.current=!1,l<e.first&&e.loadOlder(l))},[l,e]),_t(()=>{let{current:C}=_,D=W=>C.querySelector(`[data-seq="${W}"]`);if(w.current!==null&&w.current>=e.first){let W=f.findIndex(T=>T.seq>=w.current),Te=D(f[W]?.seq);Te?(w.current=null,C.scrollTop+=Te.getBoundingClientRect().top-C.getBoundingClientRect().top-C.clientHeight/3,Te.classList.add("found"),Te.querySelector("a,button,[tabindex]")?.focus({preventScroll:!0})):W>=0?m({from:Math.max(0,W-at),to:W+at}):w.current=null;return}if(k.current){let W=D(k.current.seq);W&&(C.scrollTop+=W.getBoundingClientRect().top-k.current.top),k.current=null}else b.current&&h.to===null&&(C.scrollTop=C.scrollHeight)});let I=()=>{let C=_.current.getBoundingClientRect().top,D=[..._.current.querySelectorAll("[data-seq]")].find(W=>W.getBoundingClientRect().bottom>C);k.current=D?{seq:D.dataset.seq,top:D.getBoundingClientRect().top}:null},z=()=>{let{current:C}=_,D=C.scrollHeight-C.scrollTop-C.clientHeight;if(b.current=D<Ma&&h.to===null,C.scrollTop<200){if(S>0){I();let W=Math.max(0,S-at);m({from:W,to:O-W>ro?W+ro:h.to})}else if(e.first>1&&!e.older&&!e.offline){let W=f[O-1]?.seq;e.loadOlder().then(()=>{I(),g.current=W})}}else D<200&&h.to!==null&&(I(),m(v(O+at)))},H=h.to===null&&!p?[...e.live].filter(([C,D])=>(!a||a===C)&&(D.text||D.thinking||D.note)):[],we=()=>{b.current=!0,m({...$s}),_.current.scrollTop=_.current.scrollHeight};return o("div",{class:"thread-box"},o("div",{class:"thread",ref:_,onScroll:z,tabindex:"0",role:"log","aria-live":"off","aria-label":r("nav.conversation")},(e.older||S===0&&e.first<=1)&&o("p",{class:"muted center"},r(e.older?"conv.older":"conv.begin")),f.slice(S,O).map(C=>o(Es,{key:C.seq,block:C,board:t,size:t.agents.length,act:c,sessionStore:e,live:C.kind==="call"&&!C.end&&e.live.get(C.agent)?.output.get(C.id)||""})),!H.length&&!f.some(C=>C.kind!=="note")&&o(oe,{words:r(p||a?"conv.none":"conv.empty")},!c&&!e.offline&&!p&&!a&&o("a",{class:"button",href:`#/s/${e.id}/conversation`},r("nav.conversation"))),H.map(([C,D])=>o(Ft,{key:C,board:t,id:C,kind:"said live"},D.note&&o("p",{class:"muted"},Aa(D.note)),D.thinking&&!D.text&&o("p",{class:"thinking"},y(D.thinking.slice(-400))),D.text&&o(He,{text:D.text})))),h.to!==null&&o("button",{class:"to-end",onClick:we},r("conv.toEnd")))}var Es=class extends le{shouldComponentUpdate(t){return["block","live","size","act"].some(s=>t[s]!==this.props[s])}render(t){let s={prompt:ja,told:Na,mail:Pa,said:Ra,call:La,end:Ba,note:Fa}[t.block.kind];return o(s,{...t})}},Bt=({block:e,kind:t,children:s})=>o("article",{class:`block ${t}${e.gone?" gone":""}`,"data-seq":e.seq},s),Ft=({block:e={},board:t,id:s,kind:n,head:a,acts:i,children:l})=>o(Bt,{block:e,kind:n},o(be,{board:t,id:s}),o("div",{class:"block-body"},o("header",{class:"block-head"},o(_e,{board:t,id:s}),a,e.ts&&o(bs,{ts:e.ts}),i),l)),uo=({block:e,mark:t="·",bad:s,children:n})=>o(Bt,{block:e,kind:s?"note bad":"note"},o(te,{is:t}),o("span",null,n," ",o(bs,{ts:e.ts})));function ja({block:e,board:t,act:s,sessionStore:n}){let[a,i]=E(!1),[l,c]=E(e.text),d=t.agents[0]?.id!==e.to,p=async f=>{await s.goOnFrom(e.seq,f)||i(!1)},u=s&&!e.gone&&o("span",{class:"block-acts"},o("button",{class:"link",onClick:()=>s.fork(n.id,e.seq)},r("fork")),!d&&o("button",{class:"link","aria-expanded":a,onClick:()=>i(!a)},r("conv.edit")));return o(Ft,{block:e,board:t,id:"user",kind:"prompt",acts:u,head:d&&[o("span",{class:"muted","aria-hidden":"true"},"→"),o(_e,{board:t,id:e.to})]},a?o("form",{class:"edit",onSubmit:ue(()=>p(l))},o("textarea",{rows:"4","aria-label":r("conv.edit"),value:l,onInput:$e(c)}),o("p",{class:"muted"},r("conv.forget")),o("div",{class:"row end"},o("button",{type:"button",onClick:()=>i(!1)},r("cancel")),o("button",{type:"button",onClick:()=>p("")},r("conv.rewind")),o("button",{class:"primary",disabled:!l.trim()},r("conv.goOn")))):o("div",{class:"prose pre"},y(e.text)),e.images>0&&o("p",{class:"muted"},r("conv.images",{n:e.images})))}var Na=({block:e,board:t})=>o(uo,{block:e},r("note.told",{name:$(ee(t,e.to),30)})," ",$(e.text,400));function Pa({block:e,board:t}){let s=o(He,{text:e.text});return o(Ft,{block:e,board:t,id:e.from,kind:"mail",head:[o("span",{class:`mail-kind ${e.mail}`},U("mail",e.mail)," ",o("span",{"aria-hidden":"true"},"→")),o(Fe,{board:t,id:e.to})]},e.text.length>600?o(se,{title:$(e.text,200)},s):s)}var Ra=({block:e,board:t})=>o(Ft,{block:e,board:t,id:e.agent,kind:"said"},e.thinking&&o(se,{title:r("conv.thinking")},o("div",{class:"thinking pre"},y(e.thinking))),e.text&&o(He,{text:e.text}));function Ia({name:e,args:t}){if(Cs(e)!=="diff")return null;let{old_string:s,new_string:n,content:a}=Object(t);return typeof a=="string"?xs("",a):typeof s=="string"&&typeof n=="string"?xs(s,n):null}function La({block:e,board:t,act:s,live:n}){let{end:a,asked:i,name:l,subject:c}=e,d=he(()=>Ia(e),[e.args]),[p,u,f]=a?a.ok?["ok","✓",r("step.completed")]:["error","✗",r("state.failed")]:["","●",r("call.runs")],h=po(i?.why),m=h&&a?"":qe(a?a.output:n),_=Cs(l),b=a?.ok&&(d||_==="message"||_==="whole"),k=[a?.ms>=100&&Xe(a.ms),!!a?.exit&&r("call.exit",{code:a.exit}),a?.error,h||i?.decision&&`${U("decision",i.decision)}${i.scope?` (${U("scope",i.scope)})`:""}`].filter(Boolean),g=r("call.output");return o(Bt,{block:e,kind:a&&!a.ok?"call bad":"call"},o("div",{class:"block-body"},o("header",{class:"call-head"},o("span",{class:`mark ${p}`},o("span",{"aria-hidden":"true"},u),o("span",{class:"hidden"},f)),o(_e,{board:t,id:e.agent,length:18})," ",o("span",{class:"code strong"},$(l,40))," ",o("span",{class:"code",title:y(c)},$(c,lo)),d&&o(Nt,{...Gn(d)}),k.map(v=>o("span",{class:"muted num",key:v},y(v))),i&&!i.decision&&!a&&[o("span",{class:"state asks"},o(te,{is:"▲"})," ",r("state.asks")),s&&o(et,null)]),d&&o(se,{title:r("diff")},o(De,{rows:d})),mn.includes(l)&&c.length>lo&&o(se,{title:r("call.command")},o(Ue,null,y(e.args?.command))),m&&!b&&(a?.ok&&(_==="count"||_==="nothing")?o(se,{title:g},o(ys,{text:m,lines:12,tail:!1,label:g})):o(ys,{text:m,label:g})),a?.notice&&o("p",{class:"muted"},y(a.notice))))}function po(e){if(!e)return"";let t=[U("decision","deny"),e.text].filter(Boolean).join(": ");return e.wayOut?`${t.replace(/\.$/,"")}. ${e.wayOut}`:t}function Ba({block:e,board:t}){let{began:s,status:n}=e,a=n!=="completed",i=[a&&`✗ ${$(ee(t,e.agent),24)}`,U("turn",n)];return s&&i.push(r("conv.steps",{n:s.steps}),r("tokens",{n:ve(s.tokens)}),s.cost!==null&&Y(s.cost),Xe(Date.parse(e.ts)-Date.parse(s.ts))),o(Bt,{block:e,kind:a?"turn-end bad":"turn-end"},o("span",{class:"num"},i.filter(Boolean).join(" · ")))}function Fa({block:e,board:t}){let{data:s,type:n}=e,a=(p,u=300)=>typeof p=="string"?$(p,u):"",i=$(ee(t,e.agent),30),l=p=>a(p?.id||p?.model),c=()=>r(`note.${n}`,Object.fromEntries([["name",i],...Object.entries(s).map(([p,u])=>[p,a(u)||u])])),d=({session_resumed:()=>r("note.resumed"),agent_started:()=>r("note.started",{name:a(s.agent?.name,30),model:l(s.agent?.model)}),agent_ended:()=>r("note.ended",{name:i,reason:a(s.reason)}),compacted:()=>r("note.compacted",{name:i,before:ve(s.tokens_before||0),after:ve(s.tokens_after||0)}),forked:()=>r("note.forked",{seq:G(s.at||0)}),rewound:()=>r("note.rewound",{seq:G(s.to||0)}),mode_changed:()=>r("note.mode",{mode:U("mode",a(s.mode))}),model_changed:()=>r("note.model",{name:i,model:l(s.model)}),renamed:()=>r("note.renamed",{name:a(s.name)}),error:()=>`${a(s.kind)}: ${a(s.message)}`,control:()=>r(s.action==="halt"?"note.halted":s.action==="destroy"?"note.destroyed":"note.interrupted",{name:$(ee(t,s.target),30)}),permission_decision:()=>`${a(s.tool)}: ${po(gs(s))||U("decision",a(s.decision))}`,checked:()=>r("note.checked",{status:a(s.status??String(s.ok??""))})}[n]||c)();return o(uo,{block:e,bad:n==="error",mark:n==="error"?"✗":"·"},d)}function mo({state:{inbox:e,now:t,sessions:s},act:n}){B(()=>{n.loadSessions("")},[]);let a=({session_id:i})=>s.items.find(l=>l.id===i)?.name||i;return o("div",{class:"page inbox"},o("h2",{class:"hidden"},r("nav.inbox")),e.ready?!e.items.length&&o(oe,{words:r("inbox.empty")},o("a",{class:"button",href:"#/sessions"},r("nav.sessions"))):e.connection==="lost"?o(oe,{words:r("inbox.lost")}):o(nt,null),e.items.map(i=>o(Ua,{key:i.id,one:i,now:t,act:n,session:a(i)})))}function Ua({one:e,now:t,act:s,session:n}){let[a,i]=ne(),[l,c]=E(null),[d,p]=E(""),[u,f]=E(!1),h=(g,v)=>i(async()=>c(await s.answer(e,g,v))),m=Date.parse(e.deadline)-t,_=u&&e.wider,b=_?{rule:_}:{},k=(g,v,O,S)=>o("button",{class:"big",disabled:a,onClick:()=>h(v,O),...S},g);return o("article",{class:"question","aria-label":r("inbox.of",{agent:y(e.agent)})},o("header",null,o(te,{is:"▲"}),o("h3",{class:"grow"},r("inbox.asks",{agent:$(e.agent,60)})),o("a",{href:`#/s/${e.session_id}/team`},o("bdi",null,$(n,20))),o("span",{class:"muted"},o(st,{since:e.asked,now:t}))),!e.text.startsWith(e.tool)&&o("p",{class:"strong code"},y(e.tool)),o(Ue,{label:r("inbox.call")},y(e.text)),/^@@ /m.test(e.preview)?o(De,{rows:ot(qe(e.preview).replace(/^[^]*?(?=^(?:---|@@) )/m,""))}):e.preview&&o(se,{title:r("inbox.shown")},o(Ue,null,qe(e.preview))),e.hidden_lines>0&&o("p",{class:"strong"},r("inbox.hidden",{n:e.hidden_lines})),o(ye,{rows:[[r("inbox.adds"),y(e.adds)||r("inbox.none")],[r("inbox.why"),y(e.reason)],m>0&&[r("inbox.expires"),r("inbox.in",{span:ie(m)}),{class:"num"}]]}),l&&o("p",{class:"error",role:"alert"},l.kind==="writer_conflict"?r("inbox.late"):y(l.message)),o("div",{class:"answers"},k(r("deny"),!1,d?{reason:d}:{}),k(r("allowOnce"),!0,{scope:"once"},{class:"big primary"})),o(se,{class:"more-answers",title:r("inbox.more")},e.rule?[o("p",null,r("inbox.rule")," ",o("code",null,y(_||e.rule))),e.wider&&o(tt,{checked:u,set:f,label:[r("inbox.wider")," ",o("code",null,y(e.wider))]}),o("div",{class:"answers"},k(r("allowSession"),!0,{scope:"session",...b}),k(r("allowAlways"),!0,{scope:"rule",...b})),e.place&&o("p",{class:"muted"},r("inbox.place",{place:y(e.place)}))]:o("p",{class:"muted"},r("inbox.noRule")),o(Ee,{label:r("inbox.reason")},o("textarea",{rows:"2",value:d,maxlength:"10000",onInput:$e(p)})),k(r("denyReason"),!1,{reason:d},{disabled:a||!d.trim()})))}function Os({state:e,act:t}){let{sessions:s,now:n,notices:a}=e,[i,l]=E(""),[c,d]=E(null),[p,u]=E(!1);B(()=>{let m=!1,_=setTimeout(async()=>{t.loadSessions(i);let b=i.trim().length<2?null:await X(`/search${Ve({q:i.trim(),limit:30})}`).then(({items:k})=>k,()=>[]);m||d(b)},i?200:0);return()=>{m=!0,clearTimeout(_)}},[i]);let{items:f}=s,h=s.status==="ready"&&!f.length;return o("div",{class:"page"},a.map((m,_)=>o("p",{class:"box",key:_},y(m))),o("div",{class:"row"},o("input",{id:"find",type:"search",class:"grow",value:i,placeholder:r("sessions.find"),"aria-label":r("sessions.find"),onInput:$e(l)}),o("button",{class:"primary","aria-expanded":p,onClick:()=>u(!p)},r("sessions.new"))),(p||h&&!i)&&o(Ka,{state:e,act:t}),s.status!=="ready"&&o(pe,{of:s,retry:()=>t.loadSessions(i)}),h&&(i?o(oe,{words:r("sessions.none")}):!p&&o("p",{class:"muted center"},r("sessions.empty"))),f.length>0&&o("ul",{class:"list","aria-label":r("nav.sessions")},Ha(f).map(([m,_,b])=>o(Wa,{key:m.id,one:m,depth:_,parent:b,now:n,act:t}))),s.next&&o("button",{onClick:()=>t.moreSessions(i)},r("more")),c&&o("section",{"aria-label":r("search.label")},o("h2",null,r("search.label")),c.length===0?o("p",{class:"muted"},r("conv.none")):o("ul",{class:"list hits"},c.map(m=>o("li",{key:`${m.session_id}/${m.seq}`},o("a",{href:`#/s/${m.session_id}/conversation/${m.seq}`},o("span",{class:"small"},o("bdi",null,$(m.session_name,28))," · ",o("bdi",null,$(m.agent,20))," ",o("span",{class:"muted num"},ms(m.ts,n))),o("span",null,$(m.excerpt,240))))))))}function Ha(e){let t=new Map(e.map(i=>[i.id,i])),s=Map.groupBy(e,i=>i.parent),n=new Map,a=(i,l)=>{if(!n.has(i.id)){n.set(i.id,[i,l,t.get(i.parent)]);for(let c of s.get(i.id)||[])a(c,l+1)}};for(let i of e){let l=i;for(let c=e.length;c>0&&t.has(l.parent);c-=1)l=t.get(l.parent);a(l,0)}return[...n.values()]}function Wa({one:e,depth:t,parent:s,now:n,act:a}){let[i,l]=E(!1);return o("li",{class:`session-row fork-${Math.min(t,4)}`},o("a",{class:"session-main",href:`#/s/${e.id}/team`},o("span",{class:"row"},o("bdi",{class:"strong grow",title:y(e.name)},$(e.name,36))," ",o(Rt,{state:e.state})),o("span",{class:"clip"},$(e.first_prompt,160)||o("span",{class:"muted"},r("sessions.blank"))),o("span",{class:"session-facts muted"},e.parent&&o("span",null,"↳ ",r("sessions.fork",{name:$(s?.name||e.parent,28),seq:e.forked_at})),e.team&&o("span",null,$(e.team.split("/").pop(),24)),o("span",{class:"code"},$(e.model,28)),o("span",{class:"num"},e.cost_usd===null?r("cost.none"):Y(e.cost_usd)),o("time",{class:"num",datetime:y(e.updated),title:Ae(e.updated)},ms(e.updated,n)),e.holder&&o("span",{title:r("sessions.where",{host:y(e.holder.host),pid:e.holder.pid})},r("sessions.held")))),o("button",{class:"icon","aria-expanded":i,"aria-label":r("sessions.acts",{name:y(e.name)}),onClick:()=>l(!i)},"⋯"),i&&o(za,{one:e,act:a,done:()=>l(!1)}))}function za({one:e,act:t,done:s}){let[n,a]=E(!1),i=l=>async c=>{await l(c),s()};return o("div",{class:"row-acts"},o("form",{class:"row",onSubmit:ue(i(({name:l})=>t.rename(e.id,l)))},o("input",{name:"name",class:"grow","aria-label":r("sessions.rename"),defaultValue:e.name,maxlength:"100"}),o("button",null,r("sessions.rename"))),o("div",{class:"row"},o("button",{onClick:()=>t.fork(e.id)},r("fork")),e.parent&&o("a",{class:"button",href:`#/s/${e.parent}/conversation/${e.forked_at}`},r("sessions.origin")),["md","html","ndjson"].map(l=>o("a",{class:"button",key:l,download:!0,href:`${Pe}/sessions/${e.id}/export?format=${l}`},r("export",{format:l}))),n?o("button",{class:"danger",onClick:i(()=>t.deleteSession(e.id))},r("sessions.sure")):o("button",{onClick:()=>a(!0)},r("sessions.delete"))))}function Ka({state:{models:e,teams:t},act:s}){let[n,a]=ne(),[i,l]=E(null);B(()=>s.loadPlace(),[]);let c=p=>a(async()=>l(await s.start(p)));if(e.status==="ready"&&!e.items.some(p=>p.has_key||p.source!=="catalog"))return o(oe,{words:r("start.none")},o("a",{class:"button primary",href:"#/settings"},r("setup.first")));let d=(p,u,f,h)=>o(ae,{name:p,label:u,none:r("start.default"),of:f,say:h});return o("form",{class:"start",onSubmit:ue(c),"aria-label":r("sessions.new")},o(Ee,{label:r("start.prompt")},o("textarea",{name:"prompt",rows:"3",required:!0,placeholder:r("start.example")})),o("div",{class:"options"},d("team",r("nav.team"),t.items.filter(p=>!p.problem).map(p=>p.alias),p=>$(t.items.find(u=>u.alias===p).name||p,40)),d("model",r("setup.model"),e.items.map(p=>p.id)),d("mode",r("mode.label"),jt,p=>U("mode",p)),o(Ee,{label:r("start.budget")},o("input",{name:"max_budget_usd",type:"number",min:"0.01",step:"0.01",inputmode:"decimal",placeholder:r("start.free")}))),i&&o(ke,{problem:i}),o("div",{class:"row end"},o("button",{class:"primary",disabled:n},r(n?"start.busy":"start.go"))))}var ho={anthropic:"Anthropic",openai:"OpenAI",google:"Google"},Va={ok:"✓",warning:"▲",error:"✗"};function go({state:e,act:t}){let{models:s,teams:n,me:a}=e;return B(()=>t.loadPlace(),[]),o("div",{class:"page settings"},o(Ga,{models:s,act:t}),o(Ja,{state:e,act:t}),o(fo,{title:r("models.title"),empty:r("models.empty"),of:s,Row:Xa,act:t}),o(fo,{title:r("teams.title"),empty:r("teams.empty"),of:n,Row:Ya,act:t}),o(Za,null),o(Qa,null),o("section",null,o("h2",null,r("set.server")),o(ye,{rows:[[r("set.version"),y(a.version),{class:"num"}],[r("set.workspace"),y(a.workspace),{class:"code"}]]}),o("button",{onClick:()=>t.leave()},r("set.leave"))))}function Ms(e,t,s){let[n,a]=E(null);return B(()=>{X(e).then(i=>a(t(i)),()=>{})},[s]),n}function Ga({models:e,act:t}){let s=e.status==="ready"&&!e.items.some(g=>g.current||g.has_key||g.source!=="catalog"),[n,a]=E(!1),[i,l]=E("anthropic"),[c,d]=E(null),[p,u]=ne(),f=Ms("/models?all=true",({items:g})=>g)||[],h=Ms("/config",g=>g.default_model,c),m=i==="other",_=({name:g,model:v,key:O,base_url:S},w)=>u(async()=>{d(null);let N={provider:m?g:i,...v&&{model:v},...O&&{key:O},...m&&{base_url:S}},I=await t.attempt(async()=>{let z=await K("/setup",N);d(z),z.ok&&(w.reset(),a(!1),t.loadPlace())});I&&d({ok:!1,error:I})}),b=c?.ok&&o("p",{class:"box ok",role:"status"},r("setup.done"));if(!s&&!n)return o("section",null,o("h2",null,r("setup.title")),b,o("p",null,r("setup.have")," ",o("span",{class:"code strong"},$(h||e.items.find(g=>g.current)?.id,60))),o("button",{onClick:()=>a(!0)},r("setup.change")));let k=(g,v,O,S)=>o(Ee,{label:v,hint:S},o("input",{name:g,autocomplete:"off",...O}));return o("section",{class:"setup"},o("h2",null,r(s?"setup.first":"setup.title")),o("p",{class:"muted"},r("setup.words")),o("form",{class:"start",onSubmit:ue(_)},o(ae,{label:r("setup.provider"),of:[...Object.keys(ho),"other"],say:g=>ho[g]||r("setup.other"),value:i,set:l}),m&&[k("name",r("setup.name"),{required:!0,pattern:"[A-Za-z0-9_\\-]{1,64}"}),k("base_url",r("setup.address"),{type:"url",required:!0},r("setup.where"))],k("key",r("setup.key"),{type:"password",required:!m},r("setup.kept")),k("model",r("setup.model"),{list:"setup-models",required:m,placeholder:m?"":r("setup.default")}),o("datalist",{id:"setup-models"},f.filter(g=>g.provider===i).map(g=>o("option",{key:g.id,value:g.model}))),b,c&&!c.ok&&o(ke,{problem:c.error}),o("div",{class:"row end"},o("button",{class:"primary",disabled:p},r(p?"models.busy":"setup.go")))))}var Ja=({state:e,act:t})=>o("section",null,o("h2",null,r("look.title")),o("div",{class:"options"},o(ae,{label:r("look.theme"),of:["auto","light","dark"],say:s=>r(`look.${s}`),value:e.theme,set:s=>t.setLook({theme:s})}),o(ae,{label:r("look.words"),of:ds,say:s=>r(`language.${s}`),value:e.language,set:s=>t.setLook({language:s})})),o(tt,{label:r("look.notify"),checked:t.notifies,set:s=>t.setNotify(s)}),o(tt,{label:r("look.keys"),checked:e.keys==="on",set:s=>t.setLook({keys:s?"on":"off"})}));function _o(e){let[t,s]=E(null),[n,a]=ne();return[n?null:t,n,()=>a(()=>e().then(s,i=>s({ok:!1,error:i,problems:[i.message||r("error.away")]})))]}function bo({children:e,problem:t,ask:s,word:n,good:a}){let[i,l,c]=_o(s),d=[t,...i&&!i.ok?i.problems||[`${i.error.kind} ${i.error.message}`]:[]].filter(Boolean);return o("li",{class:"place-row"},o("span",{class:"grow"},e,d.map((p,u)=>o("span",{class:"error small",role:"alert",key:u},"✗ ",$(p,240))),i?.ok&&o("span",{class:"ok small",role:"status"},"✓ ",a(i))),o("button",{disabled:l,onClick:c},r(l?"models.busy":n)))}var fo=({title:e,empty:t,of:s,act:n,Row:a})=>o("section",null,o("h2",null,e),s.status!=="ready"?o(pe,{of:s,retry:()=>n.loadPlace()}):s.items.length?o("ul",{class:"list"},s.items.map(i=>o(a,{key:i.id||i.path,one:i}))):o("p",{class:"muted"},t)),Xa=({one:e})=>o(bo,{ask:()=>K("/models/test",{model:e.id}),word:"models.test",good:t=>r("models.works",{time:Xe(t.duration_ms)})},o("span",{class:"code strong",title:y(e.id)},$(e.id,44)),e.current&&[" ",o("span",{class:"tag"},r("models.used"))],o("span",{class:"muted small"},r("models.window",{n:ve(e.context_window)}),e.input_usd!==null&&` · ${r("models.price",{input:Y(e.input_usd),output:Y(e.output_usd??0)})}`)),Ya=({one:e})=>o(bo,{ask:()=>K(`/teams/${encodeURIComponent(e.alias)}/check`),word:"teams.check",good:()=>r("teams.ok"),problem:e.problem},o("span",{class:"strong"},$(e.name||e.alias,44))," ",o("span",{class:"muted"},$(e.description,120)),o("span",{class:"muted small"},$(e.members.join(", "),120)));function Za(){let[e,t,s]=_o(()=>X("/doctor"));return o("section",null,o("h2",null,r("doctor.title")),e?.error&&o(ke,{problem:e.error,retry:s}),e?.checks&&o("ul",{class:"list"},e.checks.map(n=>o("li",{key:n.name,class:`place-row is-${n.state}`},o(te,{is:Va[n.state]||"·"}),o("span",{class:"hidden"},U("check",n.state)),o("span",null,o("span",{class:"strong"},y(n.name))," ",y(n.detail),n.advice&&o("span",{class:"muted small"},y(n.advice)))))),t?o(nt,null):o("button",{onClick:s},r("doctor.run")))}function Qa(){let e=Ms("/config/origins",({items:t})=>t);return e&&o("section",null,o("h2",null,r("config.title")),o(se,{title:r("config.show",{n:e.length})},o(ye,{rows:e.map(({key:t,value:s,source:n})=>[o("span",{class:"code"},y(t)),[o("span",{class:"code pre"},y(typeof s=="string"?s:JSON.stringify(s)))," ",o("span",{class:"muted"},y(n))]])})))}var js=150,As=2e4,qs=24,ei=new Set(["assistant_message","tool_start","tool_end","turn_end","wait","permission_request","file_changed","usage"]),Ds=class{constructor(){Object.assign(this,{bars:[],open:null,calls:new Map,overs:[],marks:[],at:0})}begin(t,s,n=""){this.finish(s),this.open={kind:t,from:s,to:s,word:n}}finish(t){this.open&&(this.open.to=t,t>this.open.from&&this.bars.push(this.open),this.open=null)}cover(t,s,{call_id:n,deadline:a},i){this.overs.push({kind:t,from:s,to:s,call:n,word:L(i),until:Date.parse(L(a))||0})}uncover(t,s){this.bars.push(...this.overs.filter(t).map(n=>({...n,to:s}))),this.overs=this.overs.filter(n=>!t(n))}close(t){this.uncover(()=>!0,t),this.finish(t),this.calls.clear()}};function ko(e){let t=new Map,s=[],n=e.length?Date.parse(e[0].ts):0,a=n,i=e.length>0&&e[0].seq>1,l=c=>(t.has(c)||t.set(c,new Ds),t.get(c));for(let c of e){a=Math.max(a,Date.parse(c.ts)||a);let{agent_id:d,type:p,data:u}=c;if(p==="message"&&(u.from!=="user"||!u.origin||u.origin==="user")&&(s.push({seq:c.seq,at:a,from:L(u.from),to:L(u.to),kind:L(u.kind)}),u.from!=="user"&&l(L(u.from))),p==="session_resumed")for(let h of t.values())h.close(h.at||a);if(!d)continue;let f=l(d);i&&!f.at&&ei.has(p)&&f.begin("work",n),Object.hasOwn(yo,p)&&yo[p](f,a,u),f.at=a}return{lanes:t,arrows:s,start:n,end:a}}var yo={turn_start(e,t){e.close(t),e.begin("work",t)},turn_end(e,t,{status:s}){e.close(t),s!=="completed"&&e.marks.push(t)},agent_ended(e,t){e.close(t)},tool_start(e,t,{id:s,name:n}){e.calls.set(s,n),e.open?.kind!=="tool"&&e.begin("tool",t,L(n))},tool_end(e,t,{id:s,ok:n}){e.uncover(a=>a.call===s,t),e.calls.delete(s),n||e.marks.push(t),e.calls.size?e.open&&(e.open.word=L([...e.calls.values()].pop())):e.begin("work",t)},wait(e,t,s){e.cover("waits",t,s,s.on)},permission_request(e,t,s){e.cover("asks",t,s,s.tool)},permission_decision(e,t,{call_id:s}){e.uncover(n=>n.kind==="asks"&&n.call===s,t)}};function wo(e,t,s){let n=[t];for(let d of e){let p=Date.parse(d.ts);p>n[n.length-1]&&p<s&&n.push(p)}s>n[n.length-1]&&n.push(s);let a=[0];for(let d=1;d<n.length;d+=1){let p=n[d]-n[d-1];a.push(a[d-1]+(p<=As?p:As*(1+Math.log2(p/As)/2)))}let i=a[a.length-1]||1,l=(d,p)=>{let u=0,f=d.length-1;for(;u<f-1;){let h=u+f>>1;d[h]<=p?u=h:f=h}return u},c=(d,p,u)=>{if(d.length<2)return 0;let f=Math.min(Math.max(u,d[0]),d[d.length-1]),h=l(d,f),m=(f-d[h])/(d[h+1]-d[h]||1);return p[h]+m*(p[h+1]-p[h])};return{place:d=>c(n,a,d)/i,moment:d=>c(a,n,d*i)}}function xo(e,t){let s=e.filter(c=>Date.parse(c.ts)<t&&c.agent_id);if(!s.length)return null;let n=s[0].seq,a=s[s.length-1].seq+1,i=new Map,l=1;for(let c of s){let d=Math.floor((c.seq-n)/(a-n)*qs);i.has(c.agent_id)||i.set(c.agent_id,new Array(qs).fill(0));let p=i.get(c.agent_id);p[d]+=1,l=Math.max(l,p[d])}return{rows:i,most:l,buckets:qs}}var me=24,Ut=72,Ns=14,vo={from:0,to:1},ti=["work","tool","waits","asks"],si=[1,2,5,10,15,30,60,120,300,600,900,1800,3600,7200,14400,43200,86400].map(e=>e*1e3);function ni(e){if(e.agents.length<=8)return e.agents;let t=s=>e.questions.some(n=>n.agent_id===s.id)?0:re(s)?1:s.status==="ended"?3:2;return e.agents.map((s,n)=>[t(s),n,s]).sort((s,n)=>s[0]-n[0]||s[1]-n[1]).map(s=>s[2])}function So({board:e,events:t,tick:s,now:n,until:a,selected:i,select:l}){let c=ni(e),d=c.length>10&&innerWidth>900,p=d?32:44,u=J(null),[f,h]=E(720),[m,_]=E(vo),[b,k]=E("");_t(()=>{let w=()=>u.current&&h(Math.max(160,u.current.clientWidth));w();let N=new ResizeObserver(w);return N.observe(u.current),()=>N.disconnect()},[]);let g=c.map(w=>w.id).join(),v=he(()=>ai({board:e,events:t,rows:c,height:p,width:f,view:m,until:a,selected:i}),[s,g,f,m,a,p,i]);B(()=>_(vo),[e.id]);let O=w=>{let{from:N,to:I}=m,z=I-N,H={ArrowLeft:[-z/4,-z/4],ArrowRight:[z/4,z/4],"+":[z/4,0],"=":[z/4,0],"-":[-z/2,0],0:[-1,1]}[w.key];if(!H||w.ctrlKey||w.metaKey)return;w.preventDefault();let we=Math.min(1,Math.max(.02,z+H[1]-H[0])),C=Math.min(1,Math.max(we,I+H[1]));_({from:Math.max(0,C-we),to:C})},S=w=>{let{left:N,top:I}=w.currentTarget.getBoundingClientRect();k(v.tell(w.clientX-N,w.clientY-I-me))};return o("div",{class:`lanes${d?" dense":""}`},o("div",{class:"lanes-scroll"},o("div",{class:"lanes-names",role:"group","aria-label":r("team.agents"),onKeyDown:It},o("div",{class:"axis","aria-hidden":"true"}),c.map((w,N)=>o("button",{key:w.id,"data-stop":!0,class:`lane-name${i===w.id?" on":""}${w.status==="ended"?" over":""}`,"aria-pressed":i===w.id,tabindex:i===w.id||!i&&N===0?0:-1,onClick:()=>l(w.id)},o(be,{board:e,id:w.id}),o("span",{class:"lane-words"},o(_e,{board:e,id:w.id,length:d?15:19}),o(Pt,{board:e,row:w,now:n}))))),o("div",{class:"lanes-box",ref:u,tabindex:"0",role:"group","aria-label":r("lanes.label"),onKeyDown:O,onPointerMove:S,onPointerLeave:()=>k("")},v.svg)),o("div",{class:"lanes-foot muted"},o("span",{class:"clip","aria-hidden":"true"},b||r("lanes.hint")),o("span",{class:"legend","aria-hidden":"true"},ti.map(w=>[o("span",{class:`key ${w}`,key:w}),r(`lanes.${w}`)," "]),["ask","task","response"].map(w=>[o("svg",{class:`arrow ${w}`,width:"24",height:"8",key:w},o("path",{d:"M0 4H23"})),r(`mail.${w}`)," "]))),o(oi,{board:e,rows:c,now:n,arrows:v.arrows}))}function oi({board:e,rows:t,now:s,arrows:n}){let a=(i,l,c)=>o("table",null,o("caption",null,i),o("thead",null,o("tr",null,l.map(d=>o("th",{scope:"col",key:d},d)))),o("tbody",null,c.map((d,p)=>o("tr",{key:p},d.map(u=>o("td",null,y(u)))))));return o("div",{class:"hidden"},a(r("lanes.table"),[r("by.agent"),r("state"),r("since")],t.map(i=>{let l=Dt(e,i);return[i.name,l.word,ie(s-Date.parse(l.since))]})),a(r("lanes.mail"),[r("time"),r("from"),r("to"),r("kind")],n.slice(-20).map(i=>[Se(i.at),ee(e,i.from),ee(e,i.to),U("mail",i.kind)])))}function ai({board:e,events:t,rows:s,height:n,width:a,view:i,until:l,selected:c}){let{lanes:d,arrows:p,start:u,end:f}=ko(t),h=p.slice(-js),m=p.length>js?h[0].at:u,_=m>u||t[0]?.seq>1?xo(t,m):null,b=_?Ut:0,k=Math.max(l||0,f,m+1),g=wo(t,m,k),v=a-b-Ns*2,O=T=>b+Ns+(g.place(T)-i.from)/(i.to-i.from)*v,S=new Map(s.map((T,x)=>[T.id,x*n])),w=T=>S.get(T)+n/2,N=T=>Math.min(Math.max(T,b),a),I=[],z=[],H=n>=40?18:14;s.forEach(T=>{let x=d.get(T.id);if(!x)return;let P=[x.open,...x.overs].filter(Boolean).map(q=>({...q,to:k,open:!0})),R={work:"",tool:"",waits:"",asks:"",deadline:"",cross:""};for(let q of[...x.bars,...P]){if(q.to<m)continue;let j=N(O(Math.max(q.from,m))),Oe=N(O(q.to));if(Oe<=b||j>=a)continue;let We=Math.max(Oe-j,1.5),rt=me+w(T.id)-H/2;R[q.kind]+=`M${j.toFixed(1)} ${rt}h${We.toFixed(1)}v${H}h-${We.toFixed(1)}z`,q.until&&q.open&&q.until<=k&&(R.deadline+=`M${N(O(q.until)).toFixed(1)} ${rt-3}v${H+6}`),z.push({left:j,right:j+We,row:T,bar:q})}let F=-9;for(let q of x.marks){let j=O(q);q<m||j<=b||j<F||(R.cross+=`M${(j-3).toFixed(1)} ${me+w(T.id)-3}l6 6m0-6l-6 6`,F=j+7)}I.push(o("g",{class:`lane hue-${qt(e,T.id)}`,key:T.id},Object.entries(R).map(([q,j])=>j&&[(q==="waits"||q==="asks")&&o("path",{class:"paper",d:j}),o("path",{class:q,d:j,fill:q==="waits"?"url(#hatch)":void 0})]),_?.rows.get(T.id)?.map((q,j)=>q&&o("rect",{class:"density",key:j,x:j*(Ut-8)/_.buckets,width:(Ut-8)/_.buckets-.5,y:me+w(T.id)+H/2-Math.max(2,q/_.most*H),height:Math.max(2,q/_.most*H)}))))});let we=h.filter(T=>O(T.at)>=b&&O(T.at)<=a).map(T=>{let x=T.from==="user";if(!S.has(T.to)||!x&&!S.has(T.from))return null;let P=O(T.at),R=me+w(T.to),F=x?R-n/2-2:me+w(T.from),q=R>F?1:-1,j=R-q*(H/2),Oe=x?F:F+q*(H/2);return o("g",{class:`arrow ${x?"prompt":T.kind}${c&&c!==T.from&&c!==T.to?" dim":""}`,key:T.seq},o("path",{d:`M${P.toFixed(1)} ${Oe}V${j-q*5}`}),o("path",{class:"head",d:`M${(P-3.5).toFixed(1)} ${j-q*6}h7l-3.5 ${q*6}z`}))}),C=ii(g,i,O,b,a),D=me+s.length*n;return{svg:o("svg",{class:"lanes-svg",width:a,height:D,viewBox:`0 0 ${a} ${D}`,"aria-hidden":"true"},o("defs",null,o("pattern",{id:"hatch",width:"6",height:"6",patternUnits:"userSpaceOnUse",patternTransform:"rotate(45)"},o("path",{class:"hatch",d:"M0 0V6"}))),s.map((T,x)=>o("path",{class:"rule",key:T.id,d:`M0 ${me+x*n+.5}H${a}`})),C.map(T=>o("g",{key:T.at},o("path",{class:"tick",d:`M${T.x.toFixed(1)} ${me-4}V${D}`}),o("text",{x:T.x+4,y:"15"},T.word))),_&&[o("path",{class:"past",d:`M${Ut-4}.5 ${me}V${D}`}),o("text",{x:"2",y:"15"},r("lanes.older"))],I,we),arrows:h,tell:(T,x)=>{let P=s[Math.floor(x/n)];if(!P||x<0)return"";let R=z.filter(Ht=>Ht.row===P&&T>=Ht.left-2&&T<=Ht.right+2),F=R[R.length-1],q=Ae(new Date(g.moment(i.from+(T-b-Ns)/v*(i.to-i.from))).toISOString());if(!F)return`${$(P.name,40)} · ${q}`;let{kind:j,word:Oe,from:We,to:rt}=F.bar,Lo=j==="waits"?r("state.waits",{name:$(ee(e,Oe),40)}):j==="work"?r("state.thinking"):`${j==="asks"?`${r("state.asks")} `:""}${$(Oe,40)}`;return`${$(P.name,40)} · ${Lo} · ${ie(rt-We)} · ${q}`}}}function ii(e,t,s,n,a){let i=e.moment(t.from),l=e.moment(t.to),c=si.find(p=>(l-i)/p<=8),d=[];if(!(l>i)||!c)return d;for(let p=Math.ceil(i/c)*c,u=n-1;p<=l;p+=c){let f=s(p);if(f<=u||f>a-60)continue;let h=new Date(p);d.push({at:p,x:f,word:l-i<3e5?`${Se(h)}:${String(h.getSeconds()).padStart(2,"0")}`:Se(h)}),u=f+84}return d}function Co({sessionStore:e,now:t,act:s,models:n,base:a,tick:i,words:l,facts:c}){let[d,p]=E(""),{replay:u}=e,f=he(()=>u?Mt(u.events):e.blocks,[u,e.blocks]),h=he(()=>u?{...e,live:new Map,first:0,offline:!0}:e,[u,e]);if(e.status!=="ready")return o(pe,{of:e,retry:()=>s.reopen()});let{board:m,events:_}=u||e,b=!u&&!e.offline&&m.agents.some(re),k=b?t:Date.parse(m.updated)||0,g=m.agents.find(S=>S.id===d),v=m.agents[0]?.plan||[],O=o(ui,{head:e.board.seq,at:m.seq,ts:m.updated,live:!u,show:S=>e.show(S)});return m.agents.length?o("div",{class:"team"},o("section",{class:"team-main","aria-label":r("team.label")},o(ri,{board:m,act:s}),u&&o("p",{class:"box",role:"status"},r("replay.shown",{seq:m.seq})),o(So,{board:m,events:_,tick:i,now:k,until:b?Math.floor(t/5e3)*5e3:0,selected:d,select:S=>p(S===d?"":S)}),o("div",{class:"team-strip"},v.length>0&&o("section",{class:"strip-plan","aria-label":r("plan")},o("h2",null,r("plan")),o(To,{steps:v})),o(li,{board:m,base:a})),o(Ts,{sessionStore:h,board:m,facts:c,words:l,only:d,act:null,blocks:f}),O),g&&o(ci,{key:g.id,board:m,row:g,now:k,act:u?null:s,models:n,base:a,close:()=>p("")})):o("section",{class:"team-main","aria-label":r("team.label")},o(oe,{words:r("team.empty")}),O)}function ri({board:e,board:{questions:t},act:s}){let n=t.length,a=n?[...new Set(t.map(i=>i.agent_id))].filter(Boolean):Ln(e);return!n&&!a.length?null:o("div",{class:`why${n?" asks":""}`,role:"status"},o("span",{class:"strong"},n?r("inbox.count",{n}):r("why"),a.length>0&&":"),o("span",{class:"why-chain"},a.map((i,l)=>o("span",{class:"row",key:l},l>0&&!n&&[o("span",{class:"muted","aria-hidden":"true"},"→"),o("span",{class:"hidden"},r("why.on"))],o(be,{board:e,id:i}),o("span",null,o(_e,{board:e,id:i,length:20}),n>0&&l<a.length-1&&","))),n===1&&o("span",{class:"code muted clip"},y(t[0].tool))),n>0&&s&&o(et,null))}function li({board:{counts:e,files:t},base:s}){let n=[["mail",e.messages],["calls",e.calls],["failed",e.failed_calls],["files",t.length],["errors",e.errors],["denials",e.denials]];return o("ul",{class:"counts"},n.filter(([a,i])=>i||["mail","calls","files"].includes(a)).map(([a,i])=>o("li",{key:a,class:a==="errors"||a==="failed"?"error":""},o("a",{href:s&&`${s}/${a==="files"?"changes":"conversation"}`},o("span",{class:"num strong"},G(i))," ",r(`count.${a}`,{n:i})))))}var $o={input_tokens:"card.fresh",cache_read_tokens:"card.read",cache_write_tokens:"card.written",output_tokens:"card.output"};function ci({board:e,row:t,now:s,act:n,models:a=[],close:i,base:l}){let[c,d]=ne(),{usage:p}=t,u=t.window?t.context/t.window:0,f=e.questions.find(g=>g.agent_id===t.id),h=t.status==="ended",m=g=>[ve(g),{class:"num",title:G(g)}],_=Object.keys($o).filter(g=>p[g]),b=[[r("card.role"),$(t.type,24),{title:y(t.type)}],[r("setup.model"),$(t.model,22),{title:y(t.model),class:"code"}],[r("by.turn"),t.turn?`${G(t.turn)} · ${r("conv.steps",{n:t.steps})}`:r("card.noTurn"),{class:"num"}],[r("card.window"),[o("progress",{max:"1",value:Math.min(1,u),"aria-label":r("card.window")})," ",Nn(u)],{class:"num",title:r("card.used",{used:t.context,all:t.window})}],[r("card.tokens"),...m(_.reduce((g,v)=>g+p[v],0))],..._.map(g=>[o("span",{class:"part"},r($o[g])),...m(p[g])]),[r("card.cost"),Ot(t),{class:"num"}],t.unread.length>0&&[r("card.unread"),G(t.unread.length),{class:"num"}]],k=(g,v)=>v.length>0&&[o("h3",null,g),o("ul",{class:"plain"},v)];return o("aside",{class:"card","aria-label":y(t.name)},o("header",{class:"row"},o("h2",{class:"grow row"},o(Fe,{board:e,id:t.id,length:19})),o(Qe,{act:i})),o("p",null,o(Pt,{board:e,row:t,now:s})),f&&o("p",{class:"box asks"},o("span",{class:"code clip"},$(f.text,160)),n&&o(et,null)),t.error&&o("p",{class:"box error"},o("strong",{class:"code"},y(t.error.kind))," ",$(t.error.message,240)),h&&t.reason&&o("p",{class:"muted"},$(t.reason,200)),o(ye,{rows:b}),k(r("card.waits"),t.waits.map(g=>o("li",{key:g.message_id,class:"row"},o(Fe,{board:e,id:g.on}),o(st,{since:g.since,now:s})))),k(r("card.calls"),t.calls.slice(0,6).map(g=>o("li",{key:g.id,class:"code clip",title:y(g.subject)},$(g.name,20)," ",o("span",{class:"muted"},$(g.subject,60))))),t.plan.length>0&&[o("h3",null,r("plan")),o(To,{steps:t.plan})],n&&o("div",{class:"card-acts"},o("a",{class:"button",href:`${l}/conversation?agent=${t.id}`},r("nav.conversation")),o("a",{class:"button",href:`${l}/changes?agent=${encodeURIComponent(t.name)}`},r("nav.changes")),re(t)&&o("button",{disabled:c||t.stopping,onClick:()=>d(()=>n.interrupt(t.id))},r("stop")),!h&&o(ae,{label:r("card.model"),hidden:!0,none:r("card.model"),of:a.map(g=>g.id),disabled:c,value:"",set:g=>g&&d(()=>n.changeModel(t.id,g))})))}var Eo={completed:"✓",in_progress:"▸",pending:"○"},To=({steps:e})=>o("ol",{class:"plan"},e.map((t,s)=>o("li",{key:s,class:`step ${Object.hasOwn(Eo,t.status)?t.status:""}`},o(te,{is:Eo[t.status]||"·"}),o("span",null,o("span",{class:"hidden"},U("step",t.status),": "),y(t.text))))),di=120;function ui({head:e,at:t,ts:s,show:n,live:a}){let[i,l]=E(!1),[c,d]=E(null),p=J(t);p.current=t,B(()=>{if(!i)return;let _=setInterval(()=>{p.current>=e?l(!1):n(p.current+1)},di);return()=>clearInterval(_)},[i,e]),B(()=>d(null),[t]);let u=c??t,f=r("replay.at",{seq:u,head:e}),h=_=>{l(!1),d(Math.min(Math.max(_,1),e)),n(_)},m=()=>{!i&&t>=e&&n(1),l(!i)};return o("div",{class:"scrubber",role:"group","aria-label":r("replay.label")},o(Ze,{word:"replay.back",mark:"◀",disabled:t<=1,onClick:()=>h(t-1)}),o(Ze,{word:i?"replay.pause":"replay.play",mark:i?"❚❚":"▶",disabled:e<2,"aria-pressed":i,onClick:m}),o(Ze,{word:"replay.on",mark:"▶▏",disabled:t>=e,onClick:()=>h(t+1)}),o("input",{type:"range",min:"1",max:Math.max(1,e),value:u,"aria-label":r("replay.place"),"aria-valuetext":f,onInput:_=>h(Number(_.target.value))}),o("span",{class:"num scrub-at",title:f},G(u)," / ",G(e)," ",o("span",{class:"muted"},Se(s))),o("button",{class:a?"live on":"live","aria-pressed":a,onClick:()=>{l(!1),n(null)}},o(te,{is:a?"●":"○"})," ",r("replay.live")))}var Is={team:Co,conversation:co,changes:Zn},Ao={sessions:Os,inbox:mo,settings:go};function Oo(e){let[t,s=""]=e.replace(/^#\/?/,"").split("?"),[n,a,i,l]=t.split("/").map(d=>decodeURIComponent(d)),c=Object.fromEntries(new URLSearchParams(s));return n==="s"&&/^[A-Za-z0-9_-]{1,64}$/.test(a||"")?{screen:"session",id:a,tab:Object.hasOwn(Is,i)?i:"team",seq:/^\d{1,15}$/.test(l||"")?Number(l):null,params:c}:{screen:Object.hasOwn(Ao,n)?n:"sessions",params:c}}var qo=e=>{try{return e(localStorage)||""}catch{return""}},it=e=>qo(t=>t.getItem(`planck.${e}`)),Mo=(e,t)=>qo(s=>s.setItem(`planck.${e}`,t));function Do(e){let t={status:"loading",items:[],next:null},s={access:"checking",route:{screen:"sessions",params:{}},sessionStore:null,now:Me.now(),toasts:[],help:!1,notices:[],me:null,inbox:{items:[],connection:"connecting",lostSince:0,ready:!1},sessions:t,models:t,teams:t,theme:it("theme")||"auto",language:it("language"),keys:it("keys")||"on",problem:null},n=new At(s,()=>Vt(o(Ps,{state:s,act:a}),e)),a=new Rs(n);a.applyLook(),addEventListener("hashchange",()=>a.go()),addEventListener("keydown",i=>a.press(i)),setInterval(()=>{document.visibilityState==="visible"&&n.set({now:Me.now()})},1e3),n.touch(),a.enter()}var jo=e=>({sessionStore:e,tick:e.lanes,words:e.words,facts:e.facts});function No(e,{events:t,session:s={}}){let n=Ye.of(t,s),a="team",i=l=>{a=l,n.touch()};return n.touch=()=>Vt(o("div",{class:"app"},o("header",{class:"topbar"},o("div",{class:"where"},o("h1",{class:"clip"},o("bdi",null,y(n.board.name||s.name||n.board.id)))),o("nav",{class:"tabs","aria-label":r("nav.session")},["team","conversation"].map(l=>o("button",{key:l,"aria-current":a===l?"page":void 0,onClick:()=>i(l)},r(`nav.${l}`))))),o("main",{class:"main"},o(Is[a],{...jo(n),now:Date.parse(n.board.updated),act:null}))),e),n.touch(),n}var Ps=class extends le{componentDidCatch(t){this.setState({problem:t})}render({state:t,act:s}){let{sessionStore:n,route:a,inbox:i,now:l}=t;if(this.state.problem)return o("main",{class:"page"},o(ke,{problem:this.state.problem,retry:()=>location.reload()}));if(t.access!=="in")return o(mi,{state:t,act:s});let c=d=>{d.preventDefault(),document.getElementById("main").focus()};return o("div",{class:`app at-${a.screen}`},o("a",{class:"skip",href:"#main",onClick:c},r("skip")),o(Hn,{state:t,act:s}),o(Wn,{sessionStore:n,inbox:i,now:l}),o("main",{class:"main",id:"main",tabindex:"-1"},o(pi,{state:t,act:s})),o(zn,{items:t.toasts,dismiss:d=>s.dismiss(d)}),o("div",{class:"hidden","aria-live":"polite"},n?.finished?y(n.finished.slice(0,1e3)):""),t.help&&o(Kn,{close:()=>s.store.set({help:!1})}))}};function pi({state:e,act:t}){let{sessionStore:s,now:n,models:a,route:{screen:i,tab:l,seq:c,params:d}}=e;if(!s)return o(Ao[i]||Os,{state:e,act:t});let p=l==="changes"?`${s.id}?${d.call||d.agent}`:s.id;return o(Is[l],{key:p,...jo(s),now:n,act:t,base:`#/s/${s.id}`,models:a.items,seq:c,agent:d.agent,params:d})}function mi({state:{access:e,problem:t},act:s}){return e==="checking"?o("main",{class:"door","aria-busy":"true"},o("span",{class:"hidden"},r("loading"))):o("main",{class:"door"},o("h1",null,r("door.title")),e==="problem"?o(ke,{problem:t,retry:()=>s.enter()}):[o("p",null,r("door.words")),o("p",null,o("code",null,"planck serve --open")),o("form",{class:"row",onSubmit:ue(({code:n})=>s.redeem(n))},o("input",{name:"code",class:"grow",autocomplete:"off","aria-label":r("door.code"),placeholder:r("door.code"),required:!0,maxlength:"128"}),o("button",{class:"primary"},r("door.enter"))),t&&o("p",{class:"error"},r("door.bad"))])}var Rs=class{constructor(t){this.store=t,this.announced=new Set,this.asked={}}get state(){return this.store.state}async enter(){let t=/^#code=([A-Za-z0-9_-]+)(?:&to=(\/s\/[A-Za-z0-9_-]+\/team))?$/.exec(location.hash);t&&(history.replaceState(null,"",`${location.pathname}#${t[2]||"/sessions"}`),await K("/auth/code",{code:t[1]}).catch(()=>{}));try{let s=Oo(location.hash);s.screen==="session"&&this.store.set({route:s,sessionStore:this.makeSessionStore(s.id)});let n=await X("/me");this.store.set({access:"in",me:n,problem:null,language:it("language")||n.locale}),this.applyLook(),this.followInbox(),this.load("models"),X("/notices").then(({items:a})=>this.store.set({notices:a}),()=>{}),this.go()}catch(s){this.store.set({access:"problem",problem:s}),this.checkOut(s)}}checkOut({status:t}){t===401&&this.store.set({access:"out",problem:null})}async redeem(t){try{await K("/auth/code",{code:t.trim()}),await this.enter()}catch(s){this.store.set({access:"out",problem:s})}}go(){if(this.state.access!=="in")return;let t=Oo(location.hash),s=this.state.route,{sessionStore:n}=this.state;n?.id!==t.id&&(n?.close(),n=t.id?this.makeSessionStore(t.id):null),this.store.set({route:t,sessionStore:n}),this.setTitle(),(s.screen!==t.screen||s.tab!==t.tab)&&document.getElementById("main")?.scrollTo(0,0)}makeSessionStore(t){let s=new Ye(t,()=>{this.state.sessionStore===s&&this.setTitle(),this.store.touch()});return s.onreset=()=>this.reopen(),s.open(),s}reopen(){let{sessionStore:t}=this.state;t.close(),this.store.set({sessionStore:this.makeSessionStore(t.id)})}async attempt(t){try{return await t(),null}catch(s){return this.checkOut(s),this.tell(s.kind||"internal_error",s.message||r("error.away"),"error"),s}}tell(t,s,n=""){let a=Xt();this.store.set({toasts:[...this.state.toasts.slice(-3),{id:a,title:t,words:s,kind:n}]}),setTimeout(()=>this.dismiss(a),n==="error"?12e3:6e3)}dismiss(t){this.store.set({toasts:this.state.toasts.filter(s=>s.id!==t)})}async load(t,s=`/${t}`,n=[]){let a={};this.asked[t]=a;let i=l=>{this.asked[t]===a&&this.store.set({[t]:{...this.state[t],...l}})};this.state[t].status==="error"&&i({status:"loading"});try{let{items:l,next:c}=await X(s);i({status:"ready",items:[...n,...l],next:c})}catch(l){i({status:"error",items:[],next:null,problem:l})}}loadPlace(){this.load("models"),this.load("teams")}loadSessions(t,s={},n=[]){return this.load("sessions",`/sessions${Ve({q:t.trim().slice(0,200),limit:50,...s})}`,n)}moreSessions(t){return this.loadSessions(t,{cursor:this.state.sessions.next},this.state.sessions.items)}changeRows(t){let{sessions:s}=this.state;this.store.set({sessions:{...s,items:s.items.flatMap(t)}})}replace(t){this.changeRows(s=>s.id===t.id?t:s)}start(t){let s=Object.fromEntries(Object.entries(t).filter(([,n])=>n!==""));return s.max_budget_usd&&(s.max_budget_usd=Number(s.max_budget_usd)),this.attempt(async()=>{location.hash=`#/s/${(await K("/sessions",s)).id}/team`})}rename(t,s){return this.attempt(async()=>this.replace(await kt(`/sessions/${t}`,{name:s})))}deleteSession(t){return this.attempt(async()=>{await Yt(`/sessions/${t}`),this.changeRows(s=>s.id===t?[]:s)})}fork(t,s){return this.attempt(async()=>{let n=await K(`/sessions/${t}/fork`,s?{at:s}:{});this.tell(n.name,r("fork.made")),location.hash=`#/s/${n.id}/conversation`})}get place(){return`/sessions/${this.state.sessionStore.id}`}prompt(t,s={}){let{sessionStore:n}=this.state;return this.attempt(async()=>{await K(`${this.place}/prompts`,{text:t,...s}),n.wake()})}goOnFrom(t,s){let{place:n,state:{sessionStore:a}}=this,i=()=>new Promise(l=>setTimeout(l,200));return this.attempt(async()=>{await K(`${n}/interrupt`);for(let l=50;l>0&&a.board.agents.some(re);l-=1)await i();for(let l=10;;l-=1)try{await K(`${n}/rewind`,{to:Math.max(0,t-1)});break}catch(c){if(c.status!==400||l<=0)throw c;await i()}a.wake(),s&&await K(`${n}/prompts`,{text:s})})}interrupt(t){return this.attempt(()=>K(`${this.place}/interrupt`,{agent:t}))}changeMode(t){return this.attempt(()=>kt(this.place,{mode:t}))}changeModel(t,s){return this.attempt(()=>kt(`${this.place}/agents/${encodeURIComponent(t)}`,{model:s}))}followInbox(){this.inboxStream?.close();let t=s=>this.state.inbox.items.filter(n=>n.id!==s);this.settle=s=>this.changeInbox({items:t(s)}),this.inboxStream=new Be(()=>"/inbox/events",{live:()=>this.changeInbox({items:[],ready:!0}),question:s=>{this.changeInbox({items:[...t(s.id),s]}),this.announce(s)},settled:({id:s})=>this.settle(s),session:s=>this.replace(s),state:s=>{this.changeInbox({connection:s,lostSince:s==="lost"?this.state.inbox.lostSince||Me.now():0}),s==="lost"&&X("/me").catch(n=>this.checkOut(n))}})}changeInbox(t){this.store.set({inbox:{...this.state.inbox,...t}}),this.setTitle()}announce(t){if(this.announced.has(t.id)||(this.announced.add(t.id),document.visibilityState==="visible"||!this.notifies))return;let s=new Notification(r("inbox.asks",{agent:y(t.agent).slice(0,80)}),{body:y(t.text).slice(0,200),tag:t.id});s.onclick=()=>{focus(),location.hash="#/inbox"}}answer({id:t,digest:s},n,a){return this.attempt(async()=>{await K(`/approvals/${t}`,{digest:s,allow:n,...a}),this.settle(t)})}setTitle(){let{inbox:{items:t},sessionStore:s,route:n}=this.state,a=s?.board.name||(n.screen==="session"?"":r(`nav.${n.screen}`));document.title=`${t.length?`(${t.length}) `:""}${a?`${y(a).slice(0,80)} · `:""}Planck`}setLook(t){for(let[s,n]of Object.entries(t))Mo(s,n);this.store.set(t),this.applyLook()}applyLook(){let{theme:t,language:s}=this.state,n=document.documentElement;n.dataset.theme=t,n.lang=ps(s),this.store.set({language:n.lang})}async setNotify(t){let s=t&&globalThis.Notification&&await Notification.requestPermission()==="granted";Mo("notify",s?"on":"off"),this.store.touch()}get notifies(){return it("notify")==="on"&&globalThis.Notification?.permission==="granted"}async leave(){await this.attempt(()=>Yt("/auth")),this.inboxStream?.close(),this.state.sessionStore?.close(),this.store.set({access:"out",sessionStore:null,problem:null})}press(t){let{target:s,key:n}=t,{sessionStore:a,keys:i}=this.state,l=document.querySelector("dialog[open]");if(i==="off"||l||t.defaultPrevented||t.ctrlKey||t.metaKey||t.altKey||s.closest?.("input, textarea, select"))return;let c=a&&`#/s/${a.id}`,d={i:"#/inbox",s:"#/sessions",...a&&{t:`${c}/team`,c:`${c}/conversation`,d:`${c}/changes`}},p={"/":"find",m:"composer"};if(n==="?")this.store.set({help:!0});else if(Object.hasOwn(d,n))location.hash=d[n];else if(Object.hasOwn(p,n))document.getElementById(p[n])?.focus();else if(n==="X"&&a)this.interrupt("");else return;t.preventDefault()}};var Io=e=>JSON.parse(document.getElementById(e)?.textContent||"null"),Po=Io("planck-events"),Ro=document.getElementById("app");Po?No(Ro,{events:Po,session:Io("planck-session")}):Do(Ro);})();
